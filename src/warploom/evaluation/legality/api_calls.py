"""The functions of CUDA, NCCL and MPI that untrusted text may call: all others are refused.

What they answer is the same on each machine, or a fact that programs go by (ranks, devices, peers,
what is done yet). A function that answers with a size, a number or a text of the implementation's
own would tell the emulator from a GPU, and one that ends a device's context leaves nothing to
judge. A new one of our headers is refused until it is listed.
"""

from warploom.evaluation.legality.refusals import words

CALLS = words(
    """
    MPI_Abort MPI_Accumulate MPI_Aint_add MPI_Aint_diff MPI_Allgather MPI_Allgatherv
    MPI_Alloc_mem MPI_Allreduce MPI_Alltoall MPI_Alltoallv MPI_Barrier MPI_Bcast MPI_Bsend
    MPI_Buffer_attach MPI_Buffer_detach MPI_Cart_coords MPI_Cart_create MPI_Cart_get
    MPI_Cart_rank MPI_Cart_shift MPI_Cart_sub MPI_Cartdim_get MPI_Comm_create
    MPI_Comm_dup MPI_Comm_free MPI_Comm_group MPI_Comm_rank MPI_Comm_set_errhandler
    MPI_Comm_size MPI_Comm_split MPI_Comm_split_type MPI_Compare_and_swap MPI_Dims_create
    MPI_Errhandler_set MPI_Error_class MPI_Exscan MPI_Fetch_and_op MPI_Finalize
    MPI_Finalized MPI_Free_mem MPI_Gather MPI_Gatherv MPI_Get MPI_Get_accumulate
    MPI_Get_count MPI_Group_excl MPI_Group_free MPI_Group_incl MPI_Group_rank MPI_Group_size
    MPI_Iallgather MPI_Iallgatherv MPI_Iallreduce MPI_Ibarrier MPI_Ibcast MPI_Info_create
    MPI_Info_free MPI_Info_set MPI_Init MPI_Init_thread MPI_Initialized MPI_Iprobe MPI_Irecv
    MPI_Ireduce MPI_Isend MPI_Issend MPI_Op_commutative MPI_Op_create MPI_Op_free MPI_Pack
    MPI_Pack_size MPI_Probe MPI_Put MPI_Recv MPI_Recv_init MPI_Reduce MPI_Reduce_local
    MPI_Reduce_scatter MPI_Reduce_scatter_block MPI_Request_free MPI_Rsend MPI_Scan
    MPI_Scatter MPI_Scatterv MPI_Send MPI_Send_init MPI_Sendrecv MPI_Sendrecv_replace
    MPI_Ssend MPI_Ssend_init MPI_Start MPI_Startall MPI_Test MPI_Testall MPI_Type_commit
    MPI_Type_contiguous MPI_Type_create_hindexed MPI_Type_create_hvector
    MPI_Type_create_indexed_block MPI_Type_create_resized MPI_Type_create_struct
    MPI_Type_create_subarray MPI_Type_extent MPI_Type_free MPI_Type_get_extent
    MPI_Type_indexed MPI_Type_size MPI_Type_vector MPI_Unpack MPI_User_function MPI_Wait
    MPI_Waitall MPI_Waitany MPI_Win_allocate MPI_Win_complete MPI_Win_create MPI_Win_fence
    MPI_Win_flush MPI_Win_flush_all MPI_Win_flush_local MPI_Win_flush_local_all MPI_Win_free
    MPI_Win_lock MPI_Win_lock_all MPI_Win_post MPI_Win_start MPI_Win_sync MPI_Win_test
    MPI_Win_unlock MPI_Win_unlock_all MPI_Win_wait cuComplexDoubleToFloat
    cuComplexFloatToDouble cuCtxCreate cuCtxGetCurrent cuCtxGetDevice cuCtxPopCurrent
    cuCtxPushCurrent cuCtxSetCurrent cuCtxSynchronize cuDeviceCanAccessPeer
    cuDeviceComputeCapability cuDeviceGet cuDeviceGetAttribute cuDeviceGetCount
    cuDevicePrimaryCtxRetain cuGetErrorName cuGetErrorString cuInit cuMemAlloc cuMemFree
    cuMemcpyDtoD cuMemcpyDtoH cuMemcpyHtoD cuMemsetD32 cuMemsetD8 cuStreamSynchronize
    cudaCpuDeviceId cudaCtxResetPersistingL2Cache cudaDeviceCanAccessPeer
    cudaDeviceDisablePeerAccess cudaDeviceEnablePeerAccess cudaDeviceGetAttribute
    cudaDeviceGetDefaultMemPool cudaDeviceGetMemPool cudaDeviceGetStreamPriorityRange
    cudaDeviceGraphMemTrim cudaDeviceSetCacheConfig cudaDeviceSetGraphMemAttribute
    cudaDeviceSetLimit cudaDeviceSetMemPool cudaDeviceSynchronize cudaEventCreate
    cudaEventCreateWithFlags cudaEventDestroy cudaEventQuery cudaEventRecord
    cudaEventRecordWithFlags cudaEventSynchronize cudaFree cudaFreeAsync cudaFreeHost
    cudaFuncSetAttribute cudaFuncSetCacheConfig cudaFuncSetSharedMemConfig cudaGetDevice
    cudaGetDeviceCount cudaGetErrorName cudaGetErrorString cudaGetLastError
    cudaGetSymbolAddress cudaGetSymbolSize cudaGraphAddChildGraphNode
    cudaGraphAddDependencies cudaGraphAddEmptyNode cudaGraphAddHostNode
    cudaGraphAddKernelNode cudaGraphAddMemAllocNode cudaGraphAddMemFreeNode
    cudaGraphAddMemcpyNode cudaGraphAddMemcpyNode1D cudaGraphAddMemsetNode cudaGraphClone
    cudaGraphCreate cudaGraphDestroy cudaGraphExecDestroy cudaGraphExecKernelNodeSetParams
    cudaGraphExecUpdate cudaGraphGetNodes cudaGraphGetRootNodes cudaGraphInstantiate
    cudaGraphInstantiateWithFlags cudaGraphKernelNodeSetParams cudaGraphLaunch
    cudaGraphNodeFindInClone cudaGraphNodeGetType cudaGraphReleaseUserObject
    cudaGraphRetainUserObject cudaGraphUpload cudaGridDependencySynchronize cudaHostAlloc
    cudaHostGetDevicePointer cudaHostUnregister cudaInvalidDeviceId
    cudaLaunchCooperativeKernel cudaLaunchHostFunc cudaLaunchKernel cudaLaunchKernelEx
    cudaLaunchKernelExC cudaMalloc cudaMalloc3D cudaMallocAsync cudaMallocFromPoolAsync
    cudaMallocHost cudaMallocManaged cudaMallocPitch cudaMemAdvise cudaMemPoolCreate
    cudaMemPoolDestroy cudaMemPoolSetAccess cudaMemPoolSetAttribute cudaMemPoolTrimTo
    cudaMemPrefetchAsync cudaMemcpy cudaMemcpy2D cudaMemcpy2DAsync cudaMemcpy3D
    cudaMemcpy3DAsync cudaMemcpyAsync cudaMemcpyFromSymbol cudaMemcpyFromSymbolAsync
    cudaMemcpyPeer cudaMemcpyPeerAsync cudaMemcpyToSymbol cudaMemcpyToSymbolAsync cudaMemset
    cudaMemset2D cudaMemset2DAsync cudaMemset3D cudaMemset3DAsync cudaMemsetAsync
    cudaPeekAtLastError cudaSetDevice cudaSetDeviceFlags cudaStreamAddCallback
    cudaStreamAttachMemAsync cudaStreamBeginCapture cudaStreamCreate
    cudaStreamCreateWithFlags cudaStreamCreateWithPriority cudaStreamDestroy
    cudaStreamEndCapture cudaStreamGetFlags cudaStreamGetPriority cudaStreamIsCapturing
    cudaStreamLegacy cudaStreamPerThread cudaStreamQuery cudaStreamSetAttribute
    cudaStreamSynchronize cudaStreamWaitEvent cudaThreadExchangeStreamCaptureMode
    cudaThreadSynchronize cudaTriggerProgrammaticLaunchCompletion cudaUserObjectCreate
    cudaUserObjectRelease cudaUserObjectRetain ncclAllGather ncclAllGatherConfig
    ncclAllReduce ncclAllReduceConfig ncclAlltoAll ncclAlltoAllConfig ncclBarrier ncclBcast
    ncclBroadcast ncclBroadcastConfig ncclCommCount ncclCommCuDevice ncclCommDeregister
    ncclCommDestroy ncclCommFinalize ncclCommGetAsyncError ncclCommGetUniqueId ncclCommGrow
    ncclCommInitAll ncclCommInitRank ncclCommInitRankConfig ncclCommInitRankScalable
    ncclCommQueryProperties ncclCommRegister ncclCommShrink ncclCommSplit ncclCommUserRank
    ncclCommWindowDeregister ncclCommWindowRegister ncclDevCommCreate ncclDevCommDestroy
    ncclFindWindow ncclGather ncclGatherConfig ncclGetErrorString ncclGetLastError
    ncclGetLocalPointer ncclGetLsaDevicePointer ncclGetLsaMultimemDevicePointer
    ncclGetLsaMultimemPointer ncclGetLsaPointer ncclGetMultimemDevicePointer
    ncclGetMultimemPointer ncclGetPeerDevicePointer ncclGetPeerPointer ncclGetResourceBuffer
    ncclGetResourceBufferLocalPointer ncclGetResourceBufferLsaMultimemPointer
    ncclGetResourceBufferLsaPointer ncclGetResourceBufferMultimemPointer
    ncclGetResourceBufferOffset ncclGetResourceBufferPeerPointer ncclGetUniqueId
    ncclGinBarrier ncclGinBarrierCreateRequirement ncclGroupEnd ncclGroupStart
    ncclLLA2ACalcSlots ncclLLA2ACreateRequirement ncclLocalCopy ncclLocalReduceSum
    ncclLocalReduceSumCopy ncclLsaBarrierCreateRequirement ncclLsaCopy ncclLsaReduceLsaCopy
    ncclLsaReduceMultimemCopy ncclLsaReduceSum ncclLsaReduceSumCopy ncclLsaReduceSumLsaCopy
    ncclLsaReduceSumMultimemCopy ncclMemAlloc ncclMemFree ncclMultimemCopy
    ncclMultimemReduceSum ncclMultimemReduceSumCopy ncclMultimemReduceSumLsaCopy
    ncclMultimemReduceSumMultimemCopy ncclPutSignal ncclRecv ncclRedOpCreatePreMulSum
    ncclRedOpDestroy ncclReduce ncclReduceConfig ncclReduceScatter ncclReduceScatterConfig
    ncclScatter ncclScatterConfig ncclSend ncclSignal ncclTeamInnerFactor ncclTeamLsa
    ncclTeamOuterFactor ncclTeamRail ncclTeamRankInDifference ncclTeamRankIsMember
    ncclTeamRankToLsa ncclTeamRankToTeam ncclTeamRankToWorld ncclTeamWorld ncclWaitSignal
    ncclWinGetUserPtr
    """
)

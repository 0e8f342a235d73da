constexpr ncclGinSignal_t kReady = 0, kData = 1@DONE@;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 5)
using Told = ncclGin_WeakSignalInc;  // settles the one put that it comes with
#else
using Told = ncclGin_SignalInc;
#endif

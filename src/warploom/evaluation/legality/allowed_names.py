"""The names of libraries that untrusted text may use: all others are refused.

Names that the program declares itself, members after `.` and `->`, and names that the trusted
program uses are no matter of these lists. What a build takes from the system is looked at again
(`imports`), however it was spelled.
"""

import re

from warploom.evaluation.legality.refusals import KEYWORDS, words

TYPES = words(
    """
    size_t ssize_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
    intptr_t uintptr_t intmax_t uintmax_t int_fast32_t uint_fast32_t uint uchar ushort ulong
    max_align_t nullptr_t wchar_t memory_order memory_order_relaxed memory_order_acquire
    memory_order_release memory_order_acq_rel memory_order_seq_cst
    half half2 nv_half nv_half2 nv_bfloat16 nv_bfloat162 __half __half2 __nv_bfloat16
    __nv_bfloat162 dim3 cudaStream_t CUdeviceptr CUstream CUresult CUcontext CUdevice
    cuComplex cuFloatComplex cuDoubleComplex FILE va_list div_t
    """
)
VECTOR_TYPE = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4](?:_\d+a)?\Z")

# Mathematics, memory and characters: of the C library, and of CUDA where it has the same.
_MATH = words(
    """
    abs labs llabs fabs fabsf sqrt sqrtf rsqrt rsqrtf cbrt cbrtf rcbrt rcbrtf exp expf exp2 exp2f
    exp10 exp10f expm1 expm1f log logf log2 log2f log10 log10f log1p log1pf pow powf powi sin sinf
    cos cosf tan tanf asin asinf acos acosf atan atanf atan2 atan2f sinh sinhf cosh coshf tanh
    tanhf asinh asinhf acosh acoshf atanh atanhf sincos sincosf sinpi sinpif cospi cospif erf erff
    erfc erfcf erfinv erfinvf erfcinv erfcinvf tgamma tgammaf lgamma lgammaf hypot hypotf rhypot
    rhypotf norm3d norm3df norm4d norm4df fma fmaf fmax fmaxf fmin fminf fdim fdimf fmod fmodf
    remainder remainderf remquo remquof floor floorf ceil ceilf round roundf trunc truncf rint
    rintf
    lrint lrintf llrint llrintf lround lroundf llround llroundf nearbyint nearbyintf ldexp
    ldexpf frexp frexpf scalbn scalbnf scalbln ilogb ilogbf logb logbf modf modff copysign
    copysignf nextafter nextafterf nan nanf isnan isinf isfinite isnormal signbit signbitf
    normcdf normcdff normcdfinv normcdfinvf j0 j0f j1 j1f jn y0 y1 yn max min umax umin llmax llmin
    ullmax ullmin fdividef saturate mul24 umul24
    """
)
_MEMORY = words("memcpy memset memmove memcmp malloc free")

# CUDA's device functions that have no leading underscores; see also `RESERVED_ALLOWED`.
_CUDA_DEVICE = re.compile(
    r"""(?:atomic(?:Add|Sub|Exch|Min|Max|Inc|Dec|CAS|And|Or|Xor)(?:_system|_block)?
    | make_\w+[1-4] | make_(?:half|bfloat16)2
    | h2?(?:exp|exp2|exp10|log|log2|log10|sqrt|rsqrt|rcp|sin|cos|floor|ceil|trunc|rint)
    | cuC(?:add|sub|mul|div|fma|real|imag|abs|onj)f? | make_cu\w*Complex
    | warpSize | threadIdx | blockIdx | blockDim | gridDim)\Z""",
    re.VERBOSE,
)
DEVICE_C = _MATH | _MEMORY | words("printf assert init")  # init: of cuda::barrier

HOST_C = DEVICE_C | words(
    """
    fprintf printf puts fputs putchar fputc fflush snprintf vprintf vfprintf vsnprintf sprintf
    perror
    calloc realloc aligned_alloc posix_memalign memchr strlen strnlen strcmp strncmp strcpy strncpy
    strcat strncat strchr strrchr strstr strdup strerror atoi atol atoll atof strtol strtoll
    strtoul strtoull strtod strtof strtold qsort bsearch rand srand rand_r drand48 srand48 lrand48
    isdigit isalpha isspace isalnum toupper tolower ldiv lldiv va_start va_end va_arg va_copy
    stdout stderr offsetof static_assert
    """
)

# Constants that headers define as macros.
CONSTANT = re.compile(
    r"""(?:NULL|EOF|NAN|INFINITY|HUGE_VALF?|EXIT_(?:SUCCESS|FAILURE)|RAND_MAX|BUFSIZ
    | U?(?:CHAR|SHRT|INT|LONG|LLONG)_(?:MIN|MAX) | SCHAR_(?:MIN|MAX) | CHAR_BIT
    | U?INT(?:8|16|32|64|MAX|PTR)_(?:MIN|MAX|C) | (?:SIZE|SSIZE|PTRDIFF)_MAX
    | (?:FLT|DBL|LDBL)_\w+ | M_(?:PI|E|LN|LOG|SQRT|2_)\w* | M_PI | M_E | CUDART_\w+
    | PRI[diouxX](?:8|16|32|64|MAX|PTR) | CUDA_R_\w+ | CU_\w+ | NCCL_\w+ | MPI_[A-Z0-9_]+
    | CUBLAS_(?!VER)\w+
    | FP_(?:NAN|INFINITE|ZERO|NORMAL|SUBNORMAL))\Z""",
    re.VERBOSE,
)

# Interfaces of CUDA, NCCL, MPI: a function that the emulator lacks does not link.
API = re.compile(
    r"(?:cuda[A-Z]\w*|cu[A-Z]\w*|cublas[A-Z]\w*|curand(?:State|_)?\w*|nccl[A-Z]\w*|MPI_\w+|nvtx\w+)\Z"
)
# What in them tells where the program runs, or leaves the program.
API_TELLING = re.compile(
    r"""(?:cudaEventElapsedTime\w*|cudaRuntimeGetVersion|cudaDriverGetVersion|cudaMemGetInfo
    | cuda\w*GetProperties\w* | cudaDeviceProp | cudaDeviceGetPCIBusId | cudaDeviceGetByPCIBusId
    | cudaPointerGetAttributes | cudaMemRangeGetAttributes?
    | cudaOccupancy\w+ | cuOccupancy\w+ | cudaFuncGetAttributes | cudaFuncAttributes
    | cudaGetFuncBySymbol
    | cudaGetDriverEntryPoint\w* | cudaIpc\w+ | cuModule\w+
    | cuLibrary\w+ | cuLink\w+ | cudaLibrary\w+ | cudaProfiler\w+ | cuGetProcAddress\w*
    | cuDriverGetVersion | cuDeviceGetName | cuDeviceGetUuid\w* | cuMemGetInfo\w*
    | ncclGetVersion | cublasGet(?:Version(?:_v2)?|Property|CudartVersion)
    | MPI_W(?:time|tick)(?:_is_global)? | MPI_Get_(?:processor_name|version|library_version)
    | MPI_File\w* | MPI_Comm_spawn\w* | MPI_Comm_(?:connect|accept|join) | MPI_Pcontrol | MPI_T_\w+
    | MPI_(?:Comm_get_attr|Attr_get) | MPI_Open_port | MPI_(?:Get_)?address
    | MPI_Get_hw_resource_info | MPI_Win_(?:allocate_shared|shared_query))\Z""",
    re.VERBOSE,
)
# Values of a device that all of them share: what else is asked tells one machine from another.
API_TELLING_VALUE = re.compile(
    r"""(?:cudaDevAttr(?!(?:MultiProcessorCount|MaxThreadsPer(?:Block|MultiProcessor)|WarpSize
    | MaxSharedMemoryPer(?:Block|BlockOptin|Multiprocessor)|MaxRegistersPer(?:Block|Multiprocessor)
    | MaxBlocksPerMultiprocessor|MaxGridDim[XYZ]|MaxBlockDim[XYZ]|ComputeCapability(?:Major|Minor)
    | CooperativeLaunch|ClusterLaunch|L2CacheSize|MemoryPoolsSupported|UnifiedAddressing
    | ManagedMemory)\Z)\w+
    | CU_DEVICE_ATTRIBUTE_(?!(?:MULTIPROCESSOR_COUNT|WARP_SIZE|MAX_THREADS_PER_BLOCK
    | MAX_SHARED_MEMORY_PER_(?:BLOCK|BLOCK_OPTIN|MULTIPROCESSOR)
    | COMPUTE_CAPABILITY_(?:MAJOR|MINOR))\Z)\w+
    | cudaDeviceAttr | CUdevice_attribute(?:_enum)?)\Z""",
    re.VERBOSE,
)
# Kernels may keep anything in such memory, and nothing looks at what they carry over in it.
API_UNSEEN = words("cudaHostRegister cuMemHostRegister cuMemHostRegister_v2")
CUDA_ROOTS = words("cuda cooperative_groups nvcuda cub thrust nccl nvtx3 cg")
CUDA_TELLING = words("clock clock64 globaltimer wall_clock64 system_clock steady_clock")

# Of namespace std, what loops in the host's library: nvcc has none of it for devices, and the
# arithmetic in it has no price.
STD_HOST_LOOPS = words(
    """
    sort stable_sort partial_sort nth_element is_sorted copy copy_n copy_if copy_backward fill
    fill_n generate generate_n transform for_each for_each_n find find_if find_if_not count
    count_if any_of all_of none_of equal mismatch lexicographical_compare search adjacent_find
    replace replace_if remove_if unique reverse reverse_copy rotate shuffle partition
    stable_partition lower_bound upper_bound equal_range binary_search merge inplace_merge includes
    set_union set_intersection set_difference min_element max_element minmax_element
    swap_ranges make_heap push_heap pop_heap sort_heap next_permutation prev_permutation iota
    accumulate reduce inner_product partial_sum exclusive_scan inclusive_scan
    adjacent_difference transform_reduce gcd lcm valarray complex
    """
)
# Of namespace std besides: values, containers, types, and what needs no loop.
_STD = words(
    """
    std size_t ptrdiff_t nullptr_t byte max_align_t
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t
    min max minmax clamp swap move forward exchange pair make_pair tuple make_tuple tie get ignore
    tuple_size tuple_size_v tuple_element tuple_element_t apply forward_as_tuple piecewise_construct
    integer_sequence index_sequence make_index_sequence index_sequence_for make_integer_sequence
    in_place in_place_t as_const addressof
    array vector string string_view deque list forward_list map multimap set multiset unordered_map
    unordered_multimap unordered_set unordered_multiset stack queue priority_queue bitset optional
    nullopt nullopt_t variant visit monostate holds_alternative get_if any any_cast span
    initializer_list less greater less_equal greater_equal equal_to not_equal_to plus minus
    multiplies divides modulus negate logical_and logical_or logical_not bit_and bit_or bit_xor
    hash function bind ref cref reference_wrapper mem_fn invoke not_fn placeholders
    unique_ptr shared_ptr weak_ptr make_unique make_shared default_delete allocator
    begin end cbegin cend rbegin rend size empty data next prev advance distance back_inserter
    inserter front_inserter iterator iterator_traits reverse_iterator make_move_iterator
    iter_swap midpoint lerp
    abs labs llabs div sqrt cbrt pow exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan
    atan2 sinh cosh tanh asinh acosh atanh erf erfc tgamma lgamma fabs fmax fmin fma fmod fdim hypot
    floor ceil round trunc rint nearbyint lround llround lrint llrint remainder ldexp frexp scalbn
    ilogb logb modf copysign nextafter isnan isinf isfinite isnormal signbit nan
    sqrtf expf logf powf fabsf fmaxf fminf sinf cosf tanhf floorf ceilf roundf real imag arg
    norm conj polar numeric_limits numbers ratio
    memcpy memset memmove memcmp strlen strcmp strncmp strcpy strncpy strchr strstr malloc calloc
    realloc free qsort rand srand atoi atol atof strtol strtoll strtoul strtoull strtod strtof
    printf fprintf snprintf sprintf puts fputs putchar fflush perror toupper tolower isdigit
    isspace isalpha FILE
    cout cerr clog endl flush ostream ostringstream istringstream stringstream setprecision setw
    setfill fixed scientific hex dec boolalpha left right showpos ws
    to_string stoi stol stoll stoul stoull stof stod char_traits basic_string
    exception runtime_error logic_error invalid_argument out_of_range length_error domain_error
    overflow_error bad_alloc error_code
    mt19937 mt19937_64 minstd_rand default_random_engine uniform_int_distribution
    uniform_real_distribution normal_distribution bernoulli_distribution discrete_distribution
    seed_seq generate_canonical
    atomic atomic_ref atomic_flag memory_order memory_order_relaxed memory_order_acquire
    memory_order_release memory_order_acq_rel memory_order_seq_cst atomic_thread_fence
    mutex lock_guard unique_lock scoped_lock condition_variable thread once_flag call_once
    enable_if enable_if_t conditional conditional_t decay decay_t remove_reference
    remove_reference_t remove_cv remove_cv_t remove_const remove_const_t remove_pointer
    remove_pointer_t remove_cvref_t add_const_t add_pointer_t make_signed_t make_unsigned
    make_unsigned_t underlying_type underlying_type_t common_type common_type_t type_identity_t
    is_same is_same_v is_integral is_integral_v is_floating_point is_floating_point_v
    is_arithmetic is_arithmetic_v is_signed_v is_unsigned_v is_pointer_v is_const_v is_enum_v
    is_convertible_v is_base_of_v is_void_v
    integral_constant bool_constant true_type false_type bit_cast popcount countl_zero countr_zero
    has_single_bit bit_ceil bit_floor bit_width rotl rotr launder
    """
)
STD = _STD | STD_HOST_LOOPS
STD_MEMBER_ROOTS = words("chrono this_thread filesystem experimental pmr ranges")


def tells(name: str) -> bool:
    """Whether an interface's name stands for what differs from machine to machine."""
    return bool(API_TELLING.match(name) or API_TELLING_VALUE.match(name))


def is_plain(name: str, *, device: bool) -> bool:
    """Whether an unqualified name that the program does not declare may be used."""
    if name in KEYWORDS or name in TYPES or CONSTANT.match(name) or VECTOR_TYPE.match(name):
        return True
    if name in CUDA_TELLING or name in API_UNSEEN or tells(name):
        return False
    if _CUDA_DEVICE.match(name) or API.match(name) or name in CUDA_ROOTS:
        return True
    if name.startswith("__"):
        return True  # judged by `RESERVED_ALLOWED`
    return name in (DEVICE_C if device else HOST_C) or (not device and name in STD)

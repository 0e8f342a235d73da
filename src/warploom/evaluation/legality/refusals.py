"""Names that no kernel and no communication pipeline needs, and those that CUDA code does."""

import re


def words(text: str) -> frozenset[str]:
    """Return the words of `text`."""
    return frozenset(text.split())


# Words that mean nothing else: refused wherever they are written as names.
FORBIDDEN: dict[str, str] = {
    name: what
    for what, names in {
        "starts or ends processes": (
            "system popen pclose fork vfork clone clone3 execl execlp execle execv execve execvp "
            "execvpe fexecve posix_spawn posix_spawnp pidfd_spawn pidfd_spawnp waitpid _exit _Exit "
            "exit quick_exit abort atexit at_quick_exit on_exit terminate set_terminate daemon "
            "setsid setpgid ptrace prctl syscall unshare setns chroot pivot_root "
            "process_vm_readv process_vm_writev pidfd_open pidfd_getfd setrlimit prlimit "
            "nanosleep usleep sched_setaffinity pthread_kill pthread_exit getppid"
        ),
        "handles signals": (
            "sigaction sigprocmask sigqueue sigwait sigsuspend siglongjmp sigsetjmp setjmp "
            "longjmp _longjmp signalfd setitimer timer_create sigaltstack raise"
        ),
        "touches files": (
            "fopen fopen64 freopen fdopen tmpfile tmpnam mkstemp mkdtemp openat openat2 creat "
            "pread pwrite preadv pwritev readv writev sendfile splice vmsplice tee dup2 dup3 fcntl "
            "ioctl mmap mmap64 munmap mremap mprotect memfd_create shm_open shm_unlink unlink "
            "unlinkat rmdir mkdir mkdirat symlink symlinkat linkat renameat chmod fchmod chown "
            "ftruncate opendir fdopendir readdir scandir realpath readlink mknod mkfifo mount "
            "umount dprintf vdprintf fileno ofstream ifstream fstream basic_ofstream "
            "basic_ifstream basic_fstream filebuf basic_filebuf filesystem __gnu_cxx "
            "stdio_filebuf copy_file_range inotify_init io_uring_setup aio_read aio_write"
        ),
        "uses the network": (
            "socket socketpair getaddrinfo gethostbyname sendto recvfrom sendmsg recvmsg accept4 "
            "setsockopt getsockopt inet_pton epoll_create epoll_create1 eventfd"
        ),
        "loads code": "dlopen dlmopen dlsym dlvsym dlclose dladdr dladdr1 dlinfo dl_iterate_phdr "
        "dlerror cuModuleLoad cuModuleLoadData cuModuleLoadDataEx nvrtcCompileProgram",
        "reads or changes the environment": "getenv secure_getenv setenv putenv unsetenv clearenv "
        "environ getauxval program_invocation_name",
    }.items()
    for name in names.split()
}

# Words that are ordinary names too: refused as a call or with `::` or `&` before them.
FORBIDDEN_CALLS: dict[str, str] = {
    name: what
    for what, names in {
        "starts or ends processes": "kill wait alarm pause sleep nice reboot",
        "handles signals": "signal",
        "touches files": "open open64 close read write dup pipe pipe2 remove rename link access "
        "truncate sync stat lstat fstat chdir poll select lseek",
        "uses the network": "connect bind listen accept send recv shutdown",
    }.items()
    for name in names.split()
}

# Names with two leading underscores that CUDA code writes. All others belong to the compiler.
RESERVED_ALLOWED = re.compile(
    r"""__(?:
      global|device|host|shared|constant|managed|grid_constant|noinline|forceinline|inline
    | restrict|launch_bounds|cluster_dims|align|maxnreg|nv_(?!pure)\w+
    | half\w*|bfloat16\w*|\w*2half\w*
    | syncthreads\w*|syncwarp|threadfence\w*|shfl\w*|(?:ballot|any|all)(?:_sync)?|activemask
    | match_\w+
    | reduce_\w+_sync|popc\w*|clz\w*|ffs\w*|fns|brev\w*|byte_perm|funnelshift_\w+
    | ld(?:cs|cg|ca|cv|lu|g)|st(?:cs|cg|wb|wt)|u?mul\w*|[us]?mul24|u?hadd|rhadd|[us]ad|usad
    | h(?:add|sub|mul|div|fma|neg|abs|max|min|eq|ne|lt|le|gt|ge|isnan|isinf)\w*
    | (?:low|high|lows|highs)2\w+|halves2\w+|floats?2\w+|double2\w+|u?int2\w+|u?short2\w+
    | u?ll2\w+|bfloat1622\w+|\w+_as_\w+|f(?:add|sub|mul|div|maf|ma|rcp|sqrt|rsqrt|dividef)\w*
    | d(?:add|sub|mul|div|ma|rcp|sqrt)\w*|(?:exp|exp10|log|log2|log10|sin|cos|tan|pow|sincos)f
    | saturatef|fsqrt_\w+|frcp_\w+|frsqrt_\w+|nanosleep|trap|brkpt|prof_trigger|clock(?:64)?
    | cvta_\w+|is(?:Global|Shared|Constant|Local)|assume|unreachable|dp[24]a\w*|v\w+[24]
    | func|FUNCTION|LINE|VA_ARGS|VA_OPT|int64|int128
    )(?:__)?\Z""",
    re.VERBOSE,
)

# They tell one compiler, or one compile, from another.
TELLING = words(
    """
    __CUDA_ARCH__ __CUDACC__ __NVCC__ __clang__ __GNUC__ __has_include __has_attribute
    __has_builtin __has_cpp_attribute __has_feature __cplusplus __VERSION__ __FILE__ __BASE_FILE__
    __DATE__ __TIME__ __TIMESTAMP__ __COUNTER__ __PRETTY_FUNCTION__
    """
)

ATTRIBUTES_ALLOWED = words(
    """
    aligned always_inline noinline unused maybe_unused nodiscard likely unlikely fallthrough
    packed hot cold flatten gnu nv_diag_suppress noreturn deprecated
    """
)

# Names that only the emulator and its build use.
OWN_PREFIXES = ("warploom", "WARPLOOM", "wl_", "WL_")

KEYWORDS = words(
    """
    alignas alignof and asm auto bool break case catch char class const consteval constexpr
    constinit const_cast continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new
    noexcept not nullptr operator or private protected public register reinterpret_cast return
    short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void
    volatile wchar_t while
    """
)

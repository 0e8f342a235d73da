// Calls of the C library on memory that the program names, as the program makes them: what each
// does with its arguments, by their numbers. Its objects are linked with --wrap for each name here.
#include "host/libc_effects.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <fnmatch.h>
#include <ftw.h>
#include <glob.h>
#include <inttypes.h>
#include <libgen.h>
#include <link.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <search.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#include <wchar.h>
#include <wctype.h>

#include "base/jumps.h"

// A symbol of its own stands for each function: its type is known to the template alone. It is
// constant, so that what programs are sent through cannot be written.
#define LOOKED_AT(name, ...)                                                            \
  extern "C" {                                                                          \
  [[gnu::visibility("hidden"), gnu::used]] extern auto* const warploom_checked_##name = \
      &warploom::effects::Looked<&::name, decltype(warploom::effects::plain(&::name)),  \
                                 __VA_ARGS__>::call;                                    \
  }                                                                                     \
  WARPLOOM_WRAPPER(name)

using namespace warploom::effects;

// Numbers and bytes.
LOOKED_AT(nan, Text<0>)
LOOKED_AT(nanf, Text<0>)
LOOKED_AT(nanl, Text<0>)
LOOKED_AT(rand_r, In<0>, Out<0>)
LOOKED_AT(getrandom, Writes<0, Arg<1>>)
LOOKED_AT(getentropy, Writes<0, Arg<1>>)
LOOKED_AT(arc4random_buf, Writes<0, Arg<1>>)
LOOKED_AT(explicit_bzero, Writes<0, Arg<1>>)
LOOKED_AT(memfrob, Writes<0, Arg<1>>)
LOOKED_AT(bcopy, Reads<0, Arg<2>>, Writes<1, Arg<2>>)
LOOKED_AT(swab, Reads<0, Arg<2>>, Writes<1, Arg<2>>)
LOOKED_AT(dirname, Text<0>, Writes<0, Length<0>>)
LOOKED_AT(__xpg_basename, Text<0>, Writes<0, Length<0>>)
LOOKED_AT(strxfrm, Text<1>, Writes<0, Arg<2>>)
LOOKED_AT(mbstowcs, Text<1>, Writes<0, Arg<2, sizeof(wchar_t)>>)
LOOKED_AT(wcstombs, Wide<1>, Writes<0, Arg<2>>)
LOOKED_AT(strverscmp, Text<0>, Text<1>)
LOOKED_AT(a64l, Text<0>)
LOOKED_AT(strtoimax, Text<0>, Out<1>)
LOOKED_AT(strtoumax, Text<0>, Out<1>)
WARPLOOM_C23_NAME(strtoimax)
WARPLOOM_C23_NAME(strtoumax)
LOOKED_AT(lgammal_r, Out<1>)

// Wide characters.
LOOKED_AT(wcslen, Wide<0>)
LOOKED_AT(wcsnlen, Wide<0, 1>)
LOOKED_AT(wcscmp, Wide<0>, Wide<1>)
LOOKED_AT(wcscoll, Wide<0>, Wide<1>)
LOOKED_AT(wcscasecmp, Wide<0>, Wide<1>)
LOOKED_AT(wcsspn, Wide<0>, Wide<1>)
LOOKED_AT(wcscspn, Wide<0>, Wide<1>)
LOOKED_AT(wcsncmp, Wide<0, 2>, Wide<1, 2>)
LOOKED_AT(wcsncasecmp, Wide<0, 2>, Wide<1, 2>)
LOOKED_AT(wcscpy, Wide<1>, Writes<0, Letters<1>>)
LOOKED_AT(wcpcpy, Wide<1>, Writes<0, Letters<1>>)
LOOKED_AT(wcsncpy, Wide<1, 2>, Writes<0, Arg<2, sizeof(wchar_t)>>)
LOOKED_AT(wcpncpy, Wide<1, 2>, Writes<0, Arg<2, sizeof(wchar_t)>>)
LOOKED_AT(wcscat, Wide<0>, Wide<1>, Writes<0, Sum<Letters<0>, Letters<1>>>)
LOOKED_AT(wcsncat, Wide<0>, Wide<1, 2>, Writes<0, Sum<Letters<0>, Letters<1, 2>>>)
LOOKED_AT(wcsdup, Wide<0>)
LOOKED_AT(wcstol, Wide<0>, Out<1>)
LOOKED_AT(wcstoul, Wide<0>, Out<1>)
LOOKED_AT(wcstoll, Wide<0>, Out<1>)
LOOKED_AT(wcstoull, Wide<0>, Out<1>)
LOOKED_AT(wcstod, Wide<0>, Out<1>)
LOOKED_AT(wcstof, Wide<0>, Out<1>)
LOOKED_AT(wcstold, Wide<0>, Out<1>)
LOOKED_AT(wcstoimax, Wide<0>, Out<1>)
LOOKED_AT(wcstoumax, Wide<0>, Out<1>)
WARPLOOM_C23_NAME(wcstol)
WARPLOOM_C23_NAME(wcstoul)
WARPLOOM_C23_NAME(wcstoll)
WARPLOOM_C23_NAME(wcstoull)
WARPLOOM_C23_NAME(wcstoimax)
WARPLOOM_C23_NAME(wcstoumax)
LOOKED_AT(wmemcpy, Reads<1, Arg<2, sizeof(wchar_t)>>, Writes<0, Arg<2, sizeof(wchar_t)>>)
LOOKED_AT(wmemmove, Reads<1, Arg<2, sizeof(wchar_t)>>, Writes<0, Arg<2, sizeof(wchar_t)>>)
LOOKED_AT(wmempcpy, Reads<1, Arg<2, sizeof(wchar_t)>>, Writes<0, Arg<2, sizeof(wchar_t)>>)
LOOKED_AT(wmemset, Writes<0, Arg<2, sizeof(wchar_t)>>)
LOOKED_AT(wmemcmp, Reads<0, Arg<2, sizeof(wchar_t)>>, Reads<1, Arg<2, sizeof(wchar_t)>>)
LOOKED_AT(wcswidth, Wide<0, 1>)
LOOKED_AT(mbsinit, In<0>)
LOOKED_AT(fnmatch, Text<0>, Text<1>)
LOOKED_AT(wctype, Text<0>)
LOOKED_AT(wctrans, Text<0>)

// Names of things, and what the system says of them.
LOOKED_AT(access, Text<0>)
LOOKED_AT(eaccess, Text<0>)
LOOKED_AT(euidaccess, Text<0>)
LOOKED_AT(chmod, Text<0>)
LOOKED_AT(chown, Text<0>)
LOOKED_AT(lchown, Text<0>)
LOOKED_AT(mkdir, Text<0>)
LOOKED_AT(rmdir, Text<0>)
LOOKED_AT(unlink, Text<0>)
LOOKED_AT(remove, Text<0>)
LOOKED_AT(truncate, Text<0>)
LOOKED_AT(truncate64, Text<0>)
LOOKED_AT(mkfifo, Text<0>)
LOOKED_AT(mknod, Text<0>)
LOOKED_AT(shm_open, Text<0>)
LOOKED_AT(shm_unlink, Text<0>)
LOOKED_AT(sem_unlink, Text<0>)
LOOKED_AT(pathconf, Text<0>)
LOOKED_AT(memfd_create, Text<0>)
LOOKED_AT(rename, Text<0>, Text<1>)
LOOKED_AT(link, Text<0>, Text<1>)
LOOKED_AT(symlink, Text<0>, Text<1>)
LOOKED_AT(mkdirat, Text<1>)
LOOKED_AT(unlinkat, Text<1>)
LOOKED_AT(faccessat, Text<1>)
LOOKED_AT(fchmodat, Text<1>)
LOOKED_AT(fchownat, Text<1>)
LOOKED_AT(mkfifoat, Text<1>)
LOOKED_AT(renameat, Text<1>, Text<3>)
LOOKED_AT(linkat, Text<1>, Text<3>)
LOOKED_AT(renameat2, Text<1>, Text<3>)
LOOKED_AT(symlinkat, Text<0>, Text<2>)
LOOKED_AT(stat, Text<0>, Out<1>)
LOOKED_AT(stat64, Text<0>, Out<1>)
LOOKED_AT(lstat, Text<0>, Out<1>)
LOOKED_AT(lstat64, Text<0>, Out<1>)
LOOKED_AT(statfs, Text<0>, Out<1>)
LOOKED_AT(statfs64, Text<0>, Out<1>)
LOOKED_AT(statvfs, Text<0>, Out<1>)
LOOKED_AT(statvfs64, Text<0>, Out<1>)
LOOKED_AT(fstat, Out<1>)
LOOKED_AT(fstat64, Out<1>)
LOOKED_AT(fstatfs, Out<1>)
LOOKED_AT(fstatfs64, Out<1>)
LOOKED_AT(fstatvfs, Out<1>)
LOOKED_AT(fstatvfs64, Out<1>)
LOOKED_AT(fstatat, Text<1>, Out<2>)
LOOKED_AT(fstatat64, Text<1>, Out<2>)
LOOKED_AT(utime, Text<0>, In<1>)
LOOKED_AT(utimes, Text<0>, In<1>)
LOOKED_AT(utimensat, Text<1>, Reads<2, Just<2 * sizeof(timespec)>>)
LOOKED_AT(futimens, Asks<0>, Reads<1, Just<2 * sizeof(timespec)>>)
LOOKED_AT(futimes, Asks<0>, Reads<1, Just<2 * sizeof(timeval)>>)
LOOKED_AT(mkstemp, Text<0>, Writes<0, Length<0>>)
LOOKED_AT(mkstemp64, Text<0>, Writes<0, Length<0>>)
LOOKED_AT(mkdtemp, Text<0>, Writes<0, Length<0>>)
LOOKED_AT(mkostemp, Text<0>, Writes<0, Length<0>>)
LOOKED_AT(mktemp, Text<0>, Writes<0, Length<0>>)
LOOKED_AT(mkstemps, Text<0>, Writes<0, Length<0>>)
LOOKED_AT(getcwd, Writes<0, Arg<1>>)
LOOKED_AT(uname, Out<0>)
LOOKED_AT(sysinfo, Out<0>)
LOOKED_AT(times, Out<0>)
LOOKED_AT(getrusage, Out<1>)
LOOKED_AT(clock_getres, Out<1>)
LOOKED_AT(timespec_get, Out<0>)
LOOKED_AT(getloadavg, Writes<0, Arg<1, sizeof(double)>>)
LOOKED_AT(getdomainname, Writes<0, Arg<1>>)
LOOKED_AT(getlogin_r, Writes<0, Arg<1>>)
LOOKED_AT(confstr, Writes<1, Arg<2>>)
LOOKED_AT(strerror_r, Writes<1, Arg<2>>)
LOOKED_AT(ttyname_r, Writes<1, Arg<2>>)
LOOKED_AT(ptsname_r, Writes<1, Arg<2>>)
LOOKED_AT(if_nametoindex, Text<0>)
LOOKED_AT(sched_getparam, Out<1>)
LOOKED_AT(sched_setparam, In<1>)
LOOKED_AT(sched_setscheduler, In<2>)
LOOKED_AT(__sched_cpucount, Reads<1, Arg<0>>)
LOOKED_AT(getcpu, Out<0>, Out<1>)
LOOKED_AT(getresuid, Out<0>, Out<1>, Out<2>)
LOOKED_AT(getresgid, Out<0>, Out<1>, Out<2>)
LOOKED_AT(getgroups, Writes<1, Arg<0, sizeof(gid_t)>>)
LOOKED_AT(tcgetattr, Out<1>)
LOOKED_AT(secure_getenv, Text<0>)

// Time.
LOOKED_AT(localtime_r, In<0>, Out<1>)
LOOKED_AT(gmtime_r, In<0>, Out<1>)
LOOKED_AT(asctime_r, In<0>, Writes<1, Just<26>>)
LOOKED_AT(ctime_r, In<0>, Writes<1, Just<26>>)
LOOKED_AT(mktime, In<0>, Out<0>)
LOOKED_AT(timegm, In<0>, Out<0>)
LOOKED_AT(strptime, Text<0>, Text<1>, Out<2>)
LOOKED_AT(timerfd_settime, Asks<0>, In<2>, Out<3>)
LOOKED_AT(timerfd_gettime, Asks<0>, Out<1>)

// Arithmetic.
LOOKED_AT(fegetenv, Out<0>)
LOOKED_AT(feholdexcept, Out<0>)
LOOKED_AT(fesetenv, In<0>)
LOOKED_AT(feupdateenv, In<0>)
LOOKED_AT(fegetexceptflag, Out<0>)
LOOKED_AT(fesetexceptflag, In<0>)

// Descriptors and sockets.
LOOKED_AT(pipe, Writes<0, Just<2 * sizeof(int)>>)
LOOKED_AT(pipe2, Writes<0, Just<2 * sizeof(int)>>)
LOOKED_AT(socketpair, Writes<3, Just<2 * sizeof(int)>>)
LOOKED_AT(poll, Reads<0, Arg<1, sizeof(pollfd)>>, Writes<0, Arg<1, sizeof(pollfd)>>)
LOOKED_AT(ppoll, Reads<0, Arg<1, sizeof(pollfd)>>, Writes<0, Arg<1, sizeof(pollfd)>>, In<2>, In<3>)
LOOKED_AT(select, Writes<1, Bits<0>>, Writes<2, Bits<0>>, Writes<3, Bits<0>>, Out<4>)
LOOKED_AT(pselect, Writes<1, Bits<0>>, Writes<2, Bits<0>>, Writes<3, Bits<0>>, In<4>, In<5>)
LOOKED_AT(epoll_ctl, Asks<0>, Asks<2>, In<3>)
LOOKED_AT(epoll_wait, Asks<0>, Writes<1, Arg<2, sizeof(epoll_event)>>)
LOOKED_AT(clock_nanosleep, In<2>, Out<3>)
LOOKED_AT(eventfd_read, Asks<0>, Out<1>)
LOOKED_AT(recv, Asks<0>, Writes<1, Arg<2>>)
LOOKED_AT(sendto, Asks<0>, Reads<1, Arg<2>>, Reads<4, Arg<5>>)
LOOKED_AT(send, Asks<0>, Reads<1, Arg<2>>)
LOOKED_AT(setsockopt, Asks<0>, Reads<3, Arg<4>>)
LOOKED_AT(inet_pton, Text<1>, Writes<2, Address<0>>)
LOOKED_AT(inet_ntop, Reads<1, Address<0>>, Writes<2, Arg<3>>)
LOOKED_AT(bind, Asks<0>, Reads<1, Arg<2>>)
LOOKED_AT(connect, Asks<0>, Reads<1, Arg<2>>)
LOOKED_AT(inet_addr, Text<0>)
LOOKED_AT(inet_aton, Text<0>, Out<1>)

// What they do to a descriptor's file: it must not be the emulator's.
LOOKED_AT(eventfd_write, Asks<0>)
LOOKED_AT(fsync, Asks<0>)
LOOKED_AT(fdatasync, Asks<0>)
LOOKED_AT(syncfs, Asks<0>)
LOOKED_AT(sync_file_range, Asks<0>)
LOOKED_AT(posix_fallocate, Asks<0>)
LOOKED_AT(posix_fallocate64, Asks<0>)
LOOKED_AT(posix_fadvise, Asks<0>)
LOOKED_AT(posix_fadvise64, Asks<0>)
LOOKED_AT(lockf, Asks<0>)
LOOKED_AT(lockf64, Asks<0>)
LOOKED_AT(fchmod, Asks<0>)
LOOKED_AT(fchown, Asks<0>)
LOOKED_AT(listen, Asks<0>)
LOOKED_AT(shutdown, Asks<0>)

// Threads: none of these objects has a pointer that is followed.
LOOKED_AT(pthread_mutex_init, Out<0>, In<1>)
LOOKED_AT(pthread_cond_init, Out<0>, In<1>)
LOOKED_AT(pthread_rwlock_init, Out<0>, In<1>)
LOOKED_AT(pthread_mutex_destroy, Out<0>)
LOOKED_AT(pthread_cond_destroy, Out<0>)
LOOKED_AT(pthread_rwlock_destroy, Out<0>)
LOOKED_AT(pthread_mutexattr_init, Out<0>)
LOOKED_AT(pthread_mutexattr_destroy, Out<0>)
LOOKED_AT(pthread_mutexattr_settype, Out<0>)
LOOKED_AT(pthread_mutexattr_setpshared, Out<0>)
LOOKED_AT(pthread_mutexattr_setprotocol, Out<0>)
LOOKED_AT(pthread_mutexattr_setrobust, Out<0>)
LOOKED_AT(pthread_condattr_init, Out<0>)
LOOKED_AT(pthread_condattr_destroy, Out<0>)
LOOKED_AT(pthread_condattr_setclock, Out<0>)
LOOKED_AT(pthread_condattr_setpshared, Out<0>)
LOOKED_AT(pthread_rwlockattr_init, Out<0>)
LOOKED_AT(pthread_rwlockattr_destroy, Out<0>)
LOOKED_AT(pthread_barrierattr_init, Out<0>)
LOOKED_AT(pthread_barrierattr_destroy, Out<0>)
LOOKED_AT(pthread_attr_setdetachstate, Out<0>)
LOOKED_AT(pthread_attr_setguardsize, Out<0>)
LOOKED_AT(pthread_attr_setinheritsched, Out<0>)
LOOKED_AT(pthread_attr_setschedpolicy, Out<0>)
LOOKED_AT(pthread_attr_setscope, Out<0>)
LOOKED_AT(pthread_attr_setstacksize, Out<0>)
LOOKED_AT(pthread_attr_getdetachstate, In<0>, Out<1>)
LOOKED_AT(pthread_attr_getguardsize, In<0>, Out<1>)
LOOKED_AT(pthread_attr_getstacksize, In<0>, Out<1>)
LOOKED_AT(pthread_mutexattr_gettype, In<0>, Out<1>)
LOOKED_AT(pthread_setcancelstate, Out<1>)
LOOKED_AT(pthread_setcanceltype, Out<1>)

// What they take for a mapping must be the program's: they tell what is mapped.
LOOKED_AT(mincore, Reads<0, Arg<1>>, Writes<2, Pages<1>>)
LOOKED_AT(msync, Reads<0, Arg<1>>)
LOOKED_AT(mlock, Reads<0, Arg<1>>)
LOOKED_AT(munlock, Reads<0, Arg<1>>)
LOOKED_AT(posix_madvise, Reads<0, Arg<1>>)

// Signals.
LOOKED_AT(sigemptyset, Out<0>)
LOOKED_AT(sigfillset, Out<0>)
LOOKED_AT(sigaddset, Out<0>)
LOOKED_AT(sigdelset, Out<0>)
LOOKED_AT(sigismember, In<0>)
LOOKED_AT(sigisemptyset, In<0>)

// Functions that are called, and what is gone through for them.
LOOKED_AT(qsort_r, Reads<0, Product<1, 2>>, Writes<0, Product<1, 2>>, Calls<3>)
LOOKED_AT(lfind, In<2>, Calls<4>)
LOOKED_AT(tsearch, Calls<2>)
LOOKED_AT(tfind, Calls<2>)
LOOKED_AT(tdelete, Calls<2>)
LOOKED_AT(twalk, Calls<1>)
LOOKED_AT(tdestroy, Calls<1>)
LOOKED_AT(twalk_r, Calls<1>)
LOOKED_AT(ftw, Listing<0>, Calls<1>)
LOOKED_AT(nftw, Listing<0>, Calls<1>)
LOOKED_AT(glob, Listing<0>, Calls<2>, Finds<1, 3>)
LOOKED_AT(glob64, Listing<0>, Calls<2>, Finds<1, 3>)
LOOKED_AT(globfree, Found<0>)
LOOKED_AT(globfree64, Found<0>)
LOOKED_AT(scandir, Listing<0>, Out<1>, Calls<2>, Calls<3>)
LOOKED_AT(dl_iterate_phdr, Calls<0>)

// Folders.
LOOKED_AT(readdir, AFolder<0>)
LOOKED_AT(readdir64, AFolder<0>)
LOOKED_AT(rewinddir, AFolder<0>)
LOOKED_AT(telldir, AFolder<0>)
LOOKED_AT(dirfd, AFolder<0>)
LOOKED_AT(seekdir, AFolder<0>)

// Streams.
LOOKED_AT(fseek, AStream<0>)
LOOKED_AT(fseeko, AStream<0>)
LOOKED_AT(fseeko64, AStream<0>)
LOOKED_AT(ftell, AStream<0>)
LOOKED_AT(ftello, AStream<0>)
LOOKED_AT(ftello64, AStream<0>)
LOOKED_AT(rewind, AStream<0>)
LOOKED_AT(feof, AStream<0>)
LOOKED_AT(ferror, AStream<0>)
LOOKED_AT(clearerr, AStream<0>)
LOOKED_AT(fileno, AStream<0>)
LOOKED_AT(feof_unlocked, AStream<0>)
LOOKED_AT(ferror_unlocked, AStream<0>)
LOOKED_AT(clearerr_unlocked, AStream<0>)
LOOKED_AT(fileno_unlocked, AStream<0>)
LOOKED_AT(fgetc_unlocked, AStream<0>)
LOOKED_AT(getc_unlocked, AStream<0>)
LOOKED_AT(getw, AStream<0>)
LOOKED_AT(flockfile, AStream<0>)
LOOKED_AT(ftrylockfile, AStream<0>)
LOOKED_AT(funlockfile, AStream<0>)
LOOKED_AT(fwide, AStream<0>)
LOOKED_AT(fgetwc, AStream<0>)
LOOKED_AT(getwc, AStream<0>)
LOOKED_AT(fflush_unlocked, AStream<0>)
LOOKED_AT(__uflow, AStream<0>)
LOOKED_AT(__overflow, AStream<0>)
LOOKED_AT(fgetpos, AStream<0>, Out<1>)
LOOKED_AT(fgetpos64, AStream<0>, Out<1>)
LOOKED_AT(fsetpos, AStream<0>, In<1>)
LOOKED_AT(fsetpos64, AStream<0>, In<1>)
LOOKED_AT(ungetc, AStream<1>)
LOOKED_AT(fputc_unlocked, AStream<1>)
LOOKED_AT(putc_unlocked, AStream<1>)
LOOKED_AT(putw, AStream<1>)
LOOKED_AT(fputwc, AStream<1>)
LOOKED_AT(putwc, AStream<1>)
LOOKED_AT(ungetwc, AStream<1>)
LOOKED_AT(fputs_unlocked, AStream<1>, Text<0>)
LOOKED_AT(fputws, AStream<1>, Wide<0>)
LOOKED_AT(fgets_unlocked, AStream<2>, Writes<0, Arg<1>>)
LOOKED_AT(fgetws, AStream<2>, Writes<0, Arg<1, sizeof(wchar_t)>>)
LOOKED_AT(fread_unlocked, AStream<3>, Writes<0, Product<1, 2>>)
LOOKED_AT(fwrite_unlocked, AStream<3>, Reads<0, Product<1, 2>>)

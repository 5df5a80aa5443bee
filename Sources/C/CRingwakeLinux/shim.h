// Functions of the Linux kernel and glibc that Swift doesn't import from Glibc. Each wraps one call. Results and errno
// are those of the call, unless stated otherwise.
#ifndef RINGWAKE_LINUX_SHIM_H
#define RINGWAKE_LINUX_SHIM_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/memfd.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Swift builds its module of the C library without _GNU_SOURCE. If a header here defined it, the same structs would
// differ from those of that module. So the functions that need _GNU_SOURCE are declared again, identically.
extern int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
extern int pipe2(int descriptors[2], int flags);
extern int fallocate(int descriptor, int mode, off_t offset, off_t length);
extern int memfd_create(const char *name, unsigned int flags);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern long syscall(long number, ...);
extern int pthread_setname_np(pthread_t thread, const char *name);

// MARK: - epoll, timerfd, signalfd

// EPOLL_CLOEXEC is an enumerator of an anonymous C enum. Swift imports it without the type that epoll_create1 takes.
static inline int ringwake_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

// epoll_event is packed and has a union. In Swift each field would have to be written through a copy.
static inline int ringwake_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = events;
    event.data.u64 = token;
    return epoll_ctl(epoll, operation, descriptor, &event);
}

// Reads the same union.
static inline uint64_t ringwake_epoll_token(const struct epoll_event *event) { return event->data.u64; }

// The constants are enumerators of `enum EPOLL_EVENTS`, which Swift imports as a type without operators.
static const uint32_t RINGWAKE_EPOLL_IN = EPOLLIN;
static const uint32_t RINGWAKE_EPOLL_OUT = EPOLLOUT;
static const uint32_t RINGWAKE_EPOLL_HUP = EPOLLHUP;
static const uint32_t RINGWAKE_EPOLL_ERR = EPOLLERR;

// In a module that also imports FoundationEssentials, the members of `struct timespec` belong to an overlay of the
// static standard library that cannot be imported by name (MemberImportVisibility).
static inline int64_t ringwake_realtime_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// TFD_NONBLOCK and TFD_CLOEXEC are enumerators of an anonymous enum.
static inline int ringwake_timerfd_create(int clock) { return timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC); }

// Arms the timer once, at an absolute time of its clock in nanoseconds; 0 disarms it.
static inline int ringwake_timerfd_arm(int descriptor, int64_t nanoseconds) {
    struct itimerspec value = {0};
    value.it_value.tv_sec = nanoseconds / 1000000000;
    value.it_value.tv_nsec = nanoseconds % 1000000000;
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &value, NULL);
}

// Arms a timer on the wall clock that never expires. It becomes readable, with ECANCELED, when that clock is set or the
// machine resumes. The time is 2200-01-01, or the last one of a 32-bit time_t.
static inline int ringwake_timerfd_arm_for_clock_changes(int descriptor) {
    struct itimerspec value = {0};
    value.it_value.tv_sec = (time_t)(sizeof(time_t) < sizeof(int64_t) ? INT32_MAX : INT64_C(7258118400));
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &value, NULL);
}

// SFD_NONBLOCK and SFD_CLOEXEC are enumerators of an anonymous enum. With `descriptor` -1 it creates a new one.
static inline int ringwake_signalfd(int descriptor, const sigset_t *mask) {
    return signalfd(descriptor, mask, SFD_NONBLOCK | SFD_CLOEXEC);
}

// MARK: - Threads

// EFD_CLOEXEC and EFD_NONBLOCK are enumerators of an anonymous enum. The counter starts at 0.
static inline int ringwake_eventfd(int nonblocking) {
    return eventfd(0, EFD_CLOEXEC | (nonblocking ? EFD_NONBLOCK : 0));
}

// Starts a thread in which all signals are blocked. They are blocked before it starts, so it never receives one. `name`
// is shown by tools and has at most 15 bytes. Returns 0 or an errno.
static inline int ringwake_start_thread(
    pthread_t *thread, size_t stack_bytes, const char *name, void *(*body)(void *), void *argument
) {
    pthread_attr_t attributes;
    sigset_t all, before;
    int result = pthread_attr_init(&attributes);
    if (result != 0) return result;
    sigfillset(&all);
    if ((result = pthread_attr_setstacksize(&attributes, stack_bytes)) == 0
        && (result = pthread_sigmask(SIG_SETMASK, &all, &before)) == 0) {
        result = pthread_create(thread, &attributes, body, argument);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (result == 0) pthread_setname_np(*thread, name);
    return result;
}

// MARK: - Descriptors and files

// open is variadic, and Swift's overlay does not retry on EINTR (network file systems, FUSE).
static inline int ringwake_open(const char *path, int flags, mode_t mode) {
    int descriptor;
    do {
        descriptor = open(path, flags | O_CLOEXEC, mode);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

// O_TMPFILE needs _GNU_SOURCE; it consists of these two bits. O_EXCL: the file can never get a name.
static inline int ringwake_open_unnamed(const char *directory, mode_t mode) {
    return open(directory, __O_TMPFILE | O_DIRECTORY | O_RDWR | O_APPEND | O_EXCL | O_CLOEXEC, mode);
}

// pipe2 is not imported from Glibc (_GNU_SOURCE).
static inline int ringwake_pipe(int descriptors[2], int flags) { return pipe2(descriptors, flags | O_CLOEXEC); }

// fcntl is variadic. F_SETPIPE_SZ needs _GNU_SOURCE. A pipe that may not be enlarged stays as it is.
static inline void ringwake_enlarge_pipe(int descriptor, int bytes) { (void)fcntl(descriptor, 1031, bytes); }
static inline int ringwake_set_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

// memfd_create is not imported from Glibc (_GNU_SOURCE).
static inline int ringwake_memfd(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }

// After this the contents of the memory file can't be changed. The names need _GNU_SOURCE, and <linux/fcntl.h>, which
// also has them, can't be included together with <fcntl.h>. So these are their values, which the kernel never changes.
static inline int ringwake_seal(int memory) {
    enum { add_seals = 1024 + 9, seal = 0x1, shrink = 0x2, grow = 0x4, write = 0x8 };
    return fcntl(memory, add_seals, seal | shrink | grow | write);
}

// Opens an open file again, even one without a name, with its own offset 0. In C the path needs no allocation.
static inline int ringwake_reopen(int descriptor, int flags) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return open(path, flags | O_CLOEXEC);
}

// fallocate and its mode bits are not imported from Glibc (_GNU_SOURCE). Frees the pages and keeps the size.
static inline int ringwake_punch_hole(int descriptor, off_t offset, off_t length) {
    return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
}

// In Swift, `struct flock` hides the function.
static inline int ringwake_flock(int descriptor, int operation) { return flock(descriptor, operation); }

// IN_NONBLOCK and IN_CLOEXEC are enumerators of an anonymous enum.
static inline int ringwake_inotify(void) { return inotify_init1(IN_NONBLOCK | IN_CLOEXEC); }

// Watches an open file, even one without a name. inotify accepts only paths, and /proc/self/fd has one.
static inline int ringwake_inotify_watch(int inotify, int descriptor, uint32_t mask) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return inotify_add_watch(inotify, path, mask);
}

// MARK: - Processes

// glibc has it only since 2.36, in a header (sys/pidfd.h) that conflicts with linux/fcntl.h. Always close-on-exec.
static inline int ringwake_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0U); }

// Reaps the child (by its pidfd or its PID; 0 for any) if it has exited; with WNOWAIT, only looks. siginfo_t's si_code,
// si_pid and si_status are macros into a union. Returns its PID with code (CLD_*) and status if it has exited, 0 if not,
// -1 with errno.
static inline int ringwake_wait_child(bool is_pidfd, int child, int options, int *code, int *status) {
    siginfo_t info = {0};
    int result;
    do {
        result = waitid(child == 0 ? P_ALL : is_pidfd ? P_PIDFD : P_PID, (id_t)child, &info, WEXITED | WNOHANG | options);
    } while (result < 0 && errno == EINTR);
    if (result < 0) return -1;
    *code = info.si_code;
    *status = info.si_status;
    return info.si_pid;
}

// prctl is variadic.
static inline int ringwake_adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL); }

// Runs `arguments[0]` with these three descriptors as 0, 1 and 2 and no others, in its own process group, with every
// signal at its default action and none blocked. (Listing all signals is cheaper: glibc 2.36 makes one system call for
// each listed signal, and two for each other one.) Returns 0 with the process, or an errno. Blocks until the child has
// executed the program or failed.
//
// posix_spawn_file_actions_addclosefrom_np is not imported from Glibc (_GNU_SOURCE), and the types of the attributes'
// flags differ between C libraries.
static inline int ringwake_spawn(
    pid_t *process, char *const *arguments, char *const *environment, int input, int output, int error
) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    int result = posix_spawn_file_actions_init(&actions);
    if (result != 0) return result;
    result = posix_spawnattr_init(&attributes);
    if (result != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return result;
    }
    sigfillset(&all);
    sigemptyset(&none);
    if ((result = posix_spawn_file_actions_adddup2(&actions, input, 0)) == 0
        && (result = posix_spawn_file_actions_adddup2(&actions, output, 1)) == 0
        && (result = posix_spawn_file_actions_adddup2(&actions, error, 2)) == 0
        && (result = posix_spawn_file_actions_addclosefrom_np(&actions, 3)) == 0
        && (result = posix_spawnattr_setpgroup(&attributes, 0)) == 0
        && (result = posix_spawnattr_setsigdefault(&attributes, &all)) == 0
        && (result = posix_spawnattr_setsigmask(&attributes, &none)) == 0
        && (result = posix_spawnattr_setflags(
                &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)) == 0) {
        result = posix_spawn(process, arguments[0], &actions, &attributes, arguments, environment);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

// MARK: - Sockets

// A non-blocking, close-on-exec socket. `family` is AF_INET, AF_INET6 or AF_UNIX. SOCK_STREAM and its flags are
// enumerators of `enum __socket_type`, which has no operators in Swift.
static inline int ringwake_stream_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// The same, but blocking, for a client that has nothing else to do.
static inline int ringwake_blocking_stream_socket(int family) { return socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0); }

// Like socketpair; both ends are non-blocking and close-on-exec.
static inline int ringwake_stream_socket_pair(int descriptors[2]) {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, descriptors);
}

// Returns free memory to the system. malloc.h is not part of Glibc's module.
static inline void ringwake_trim_memory(void) { malloc_trim(0); }

// accept4 is not imported from Glibc (_GNU_SOURCE). The peer's address goes to `storage`; both may be NULL.
static inline int ringwake_accept(int listener, struct sockaddr_storage *storage, socklen_t *length) {
    if (storage != NULL && length != NULL) {
        memset(storage, 0, sizeof *storage);
        *length = sizeof *storage;
    }
    return accept4(listener, (struct sockaddr *)storage, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// setsockopt takes an untyped pointer. The options are enumerators or macros that Swift imports inconsistently.
static inline int ringwake_set_option(int descriptor, int level, int option, int value) {
    return setsockopt(descriptor, level, option, &value, sizeof value);
}
static inline int ringwake_set_reuse_address(int socket) { return ringwake_set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1); }
static inline int ringwake_set_no_delay(int socket) { return ringwake_set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1); }
static inline int ringwake_set_ipv6_only(int descriptor, int on) {
    return ringwake_set_option(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, on);
}

// struct ucred needs _GNU_SOURCE; it has these three fields.
static inline int ringwake_peer_credentials(int descriptor, pid_t *process, uid_t *user, gid_t *group) {
    struct {
        pid_t pid;
        uid_t uid;
        gid_t gid;
    } credentials = {0};
    socklen_t length = sizeof credentials;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return -1;
    *process = credentials.pid;
    *user = credentials.uid;
    *group = credentials.gid;
    return 0;
}

// Parses a numeric address without brackets or port. Returns its length, or 0 if it isn't one. A socket address is a C
// union by cast, which Swift can only write through rebound pointers.
static inline socklen_t ringwake_ip_address(const char *text, uint16_t port, struct sockaddr_storage *storage) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;
    memset(storage, 0, sizeof *storage);
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return sizeof *v4;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        return sizeof *v6;
    }
    return 0;
}

// The reverse: "192.0.2.1:443" or "[2001:db8::1]:443". A peer that came by IPv4 to a socket for both has its IPv4 address.
// Returns 0, or -1 if it isn't an IP address.
static inline int ringwake_describe_ip_address(const struct sockaddr_storage *storage, char *text, size_t capacity) {
    char address[INET6_ADDRSTRLEN];
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)storage;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)storage;
    if (storage->ss_family != AF_INET && storage->ss_family != AF_INET6) return -1;
    int is_mapped = storage->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
    int is_v6 = storage->ss_family == AF_INET6 && !is_mapped;
    const void *bytes = is_mapped ? (const void *)&v6->sin6_addr.s6_addr[12]
                        : is_v6   ? (const void *)&v6->sin6_addr
                                  : (const void *)&v4->sin_addr;
    if (inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes, address, sizeof address) == NULL) return -1;
    snprintf(text, capacity, is_v6 ? "[%s]:%u" : "%s:%u", address, (unsigned)ntohs(v4->sin_port));
    return 0;
}

// A path as a socket address. Returns its length, or 0 if the path is empty or too long for sun_path (107 bytes).
static inline socklen_t ringwake_unix_address(const char *path, struct sockaddr_storage *storage) {
    struct sockaddr_un *address = (struct sockaddr_un *)storage;
    size_t length = strlen(path);
    memset(storage, 0, sizeof *storage);
    if (length == 0 || length >= sizeof address->sun_path) return 0;
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

// bind, connect and getsockname with a sockaddr_storage, so that Swift doesn't have to rebind the pointer.
static inline int ringwake_bind(int descriptor, const struct sockaddr_storage *storage, socklen_t length) {
    return bind(descriptor, (const struct sockaddr *)storage, length);
}
// With SO_SNDTIMEO, connect fails with EINTR when the machine sleeps or the process is stopped (signal(7)). Calling it
// again continues the same connection.
static inline int ringwake_connect(int descriptor, const struct sockaddr_storage *storage, socklen_t length) {
    int result;
    do {
        result = connect(descriptor, (const struct sockaddr *)storage, length);
    } while (result < 0 && errno == EINTR);
    return result;
}
static inline int ringwake_local_address(int descriptor, struct sockaddr_storage *storage) {
    socklen_t length = sizeof *storage;
    memset(storage, 0, sizeof *storage);
    return getsockname(descriptor, (struct sockaddr *)storage, &length);
}

// The environment of the process. Swift refuses the global variable, because another thread could change it.
extern char **environ;
static inline char **ringwake_environment(void) { return environ; }

// Whether the kernel considers the wall clock synchronized by a time service (NTP, PTP). Needs no privilege.
static inline bool ringwake_clock_is_synchronized(void) {
    struct timex state = {0};
    return adjtimex(&state) != TIME_ERROR;
}

// SIG_IGN is a cast in a macro, which Swift doesn't import.
static inline void ringwake_ignore_signal(int number) { signal(number, SIG_IGN); }

// Sets the descriptor limits of another process. prlimit needs _GNU_SOURCE, which also changes the type of its resource
// argument. So this uses the system call, which takes two 64-bit numbers on every architecture.
static inline int ringwake_limit_descriptors(pid_t process, uint64_t soft, uint64_t hard) {
    uint64_t limits[2] = {soft, hard};
    return (int)syscall(SYS_prlimit64, process, RLIMIT_NOFILE, limits, NULL);
}

// Writes a part of a file to the disk, and waits for that. It makes nothing durable: fsync does. sync_file_range is declared
// again, identically: it needs _GNU_SOURCE, as the names of its flags (wait before, write, wait after) do.
extern int sync_file_range(int descriptor, int64_t offset, int64_t length, unsigned int flags);
static inline int ringwake_write_back(int descriptor, int64_t offset, int64_t length) {
    return sync_file_range(descriptor, offset, length, 1 | 2 | 4);
}

#endif

// Runs a program on a kernel that lacks something: a seccomp filter fails the system calls that it is used by.
//
//     without FACILITY PROGRAM [ARGUMENT...]

#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define ANY (-1)

static const struct {
    const char *facility;
    int call;
    // What its arguments have to be.
    int first, second, third;
    int error;
} lacks[] = {
    {"pidfd", SYS_pidfd_open, ANY, ANY, ANY, ENOSYS},
    {"memfd", SYS_memfd_create, ANY, ANY, ANY, ENOSYS},
    {"boottime-alarm", SYS_timerfd_create, CLOCK_BOOTTIME_ALARM, ANY, ANY, EPERM},
    {"inotify", SYS_inotify_init1, ANY, ANY, ANY, ENOSYS},
    {"netlink", SYS_socket, AF_NETLINK, ANY, ANY, EAFNOSUPPORT},
    {"socket-filter", SYS_setsockopt, ANY, SOL_SOCKET, SO_ATTACH_FILTER, ENOPROTOOPT},
    {"strict-netlink", SYS_setsockopt, ANY, SOL_NETLINK, NETLINK_GET_STRICT_CHK, ENOPROTOOPT},
};

int main(int count, char **arguments) {
    for (size_t index = 0; count > 2 && index < sizeof lacks / sizeof lacks[0]; index++) {
        if (strcmp(lacks[index].facility, arguments[1]) != 0) continue;
        const int wanted[] = {lacks[index].first, lacks[index].second, lacks[index].third};
        struct sock_filter filter[16];
        unsigned short length = 0;
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        // Each comparison that fails goes on behind the next instruction, which allows the call.
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)lacks[index].call, 1, 0);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        for (int argument = 0; argument < 3; argument++) {
            if (wanted[argument] == ANY) continue;
            filter[length++] = (struct sock_filter)BPF_STMT(
                BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (unsigned)argument);
            filter[length++] =
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)wanted[argument], 1, 0);
            filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        }
        filter[length++] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)lacks[index].error);
        struct sock_fprog program = {.len = length, .filter = filter};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
            perror("seccomp");
            return 1;
        }
        execv(arguments[2], arguments + 2);
        perror(arguments[2]);
        return 1;
    }
    fprintf(stderr, "usage: without FACILITY PROGRAM [ARGUMENT...]\n");
    return 2;
}

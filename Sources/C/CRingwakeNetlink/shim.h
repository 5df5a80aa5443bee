// Netlink as Swift sees it: libnl's headers, the kernel's, and what of them Swift cannot call.
#ifndef RINGWAKE_NETLINK_SHIM_H
#define RINGWAKE_NETLINK_SHIM_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: - Sockets

// SOCK_RAW and its flags are enumerators of `enum __socket_type`, and a socket address is a C union by cast. Bound to
// a port that the kernel chooses; it joins no group. Non-blocking, close-on-exec. Returns -1 with errno.
static inline int ringwake_netlink_open(void) {
    struct sockaddr_nl address;
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    memset(&address, 0, sizeof address);
    address.nl_family = AF_NETLINK;
    if (bind(descriptor, (const struct sockaddr *)&address, sizeof address) < 0) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

// recvmsg takes pointers to pointers, and the sender is a union by cast. `sender` gets the port that sent it, which is
// 0 for the kernel alone; UINT32_MAX when there is no such address. `flags` gets those of the message: MSG_TRUNC.
static inline ssize_t ringwake_netlink_receive(
    int descriptor, void *buffer, size_t capacity, uint32_t *sender, int *flags
) {
    struct sockaddr_nl address;
    struct iovec part = {buffer, capacity};
    struct msghdr message;
    memset(&address, 0, sizeof address);
    memset(&message, 0, sizeof message);
    message.msg_name = &address;
    message.msg_namelen = sizeof address;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    ssize_t length = recvmsg(descriptor, &message, MSG_DONTWAIT);
    *flags = message.msg_flags;
    *sender = message.msg_namelen == sizeof address && address.nl_family == AF_NETLINK ? address.nl_pid : UINT32_MAX;
    return length;
}

// The port of a netlink socket: what another process names to send to it. 0 when it has none.
static inline uint32_t ringwake_netlink_port(int descriptor) {
    struct sockaddr_nl address;
    socklen_t length = sizeof address;
    memset(&address, 0, sizeof address);
    return getsockname(descriptor, (struct sockaddr *)&address, &length) == 0 ? address.nl_pid : 0;
}

// Sends to a port of another process, or to a group, which takes CAP_NET_ADMIN. For tests.
static inline ssize_t ringwake_netlink_send_to_port(int descriptor, uint32_t port, const void *bytes, size_t length) {
    struct sockaddr_nl address;
    memset(&address, 0, sizeof address);
    address.nl_family = AF_NETLINK;
    address.nl_pid = port;
    return sendto(descriptor, bytes, length, 0, (const struct sockaddr *)&address, sizeof address);
}

// A group up to 32. The kernel gets a copy, as from any sender to a group; its answer is not awaited.
static inline ssize_t ringwake_netlink_send_to_group(int descriptor, uint32_t group, const void *bytes, size_t length) {
    struct sockaddr_nl address;
    memset(&address, 0, sizeof address);
    address.nl_family = AF_NETLINK;
    address.nl_groups = (uint32_t)1 << (group - 1);
    return sendto(descriptor, bytes, length, 0, (const struct sockaddr *)&address, sizeof address);
}

// setsockopt takes an untyped pointer.
static inline int ringwake_netlink_set_option(int descriptor, int option, int value) {
    return setsockopt(descriptor, SOL_NETLINK, option, &value, sizeof value);
}

// MARK: - Namespaces

// unshare and CLONE_NEWNET hide behind _GNU_SOURCE, and <linux/sched.h>, which has the flag, clashes with <sched.h>:
// its value there, which is for ever. The calling thread, and what it starts from then on, gets a network namespace of
// its own. For tests.
static inline int ringwake_unshare_network(void) {
    enum { clone_newnet = 0x40000000 };
    return (int)syscall(SYS_unshare, (unsigned long)clone_newnet);
}

// The effective user of the calling thread alone; seteuid would change all threads. The real user stays, so that 0 can
// be had again. For tests.
static inline int ringwake_set_thread_user(uid_t user) {
    return (int)syscall(SYS_setresuid, (uid_t)-1, user, (uid_t)-1);
}

#endif

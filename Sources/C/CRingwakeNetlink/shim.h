// Netlink for Swift: the headers of libnl and the kernel, and wrappers for what Swift can't call.
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

// A netlink socket with a port that the kernel chooses, in no group; non-blocking, close-on-exec. Returns -1 with
// errno. SOCK_RAW and its flags are enumerators of `enum __socket_type`, and a socket address is a C union by cast.
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

// Receives a message. `sender` is set to the sender's port: 0 only for the kernel, UINT32_MAX if there is no such
// address. `flags` is set to the message's flags (MSG_TRUNC). recvmsg takes pointers to pointers, and the sender is a
// union by cast.
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

// The port of a netlink socket, to which other processes can send. 0 if it has none.
static inline uint32_t ringwake_netlink_port(int descriptor) {
    struct sockaddr_nl address;
    socklen_t length = sizeof address;
    memset(&address, 0, sizeof address);
    return getsockname(descriptor, (struct sockaddr *)&address, &length) == 0 ? address.nl_pid : 0;
}

// Sends to the port of another process. For tests.
static inline ssize_t ringwake_netlink_send_to_port(int descriptor, uint32_t port, const void *bytes, size_t length) {
    struct sockaddr_nl address;
    memset(&address, 0, sizeof address);
    address.nl_family = AF_NETLINK;
    address.nl_pid = port;
    return sendto(descriptor, bytes, length, 0, (const struct sockaddr *)&address, sizeof address);
}

// Sends to a group up to 32, which needs CAP_NET_ADMIN. The kernel gets a copy too; its answer isn't read. For tests.
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

// Moves the calling thread, and the threads and processes that it starts later, to a new network namespace. unshare and
// CLONE_NEWNET need _GNU_SOURCE, and <linux/sched.h>, which has the flag, conflicts with <sched.h>. So this is its
// value, which the kernel never changes. For tests.
static inline int ringwake_unshare_network(void) {
    enum { clone_newnet = 0x40000000 };
    return (int)syscall(SYS_unshare, (unsigned long)clone_newnet);
}

// Sets the effective user of the calling thread only; seteuid would change all threads. The real user stays, so that
// the thread can return to 0. For tests.
static inline int ringwake_set_thread_user(uid_t user) {
    return (int)syscall(SYS_setresuid, (uid_t)-1, user, (uid_t)-1);
}

#endif

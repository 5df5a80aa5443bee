// libsystemd for Swift: sd-bus, a D-Bus client with a descriptor to wait for, without threads; and sd-daemon.
#ifndef RINGWAKE_SYSTEMD_SHIM_H
#define RINGWAKE_SYSTEMD_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

// Connects without blocking: EAGAIN if the backlog is full. Returns a non-blocking, close-on-exec descriptor, or a
// negative errno; -ENAMETOOLONG if the name doesn't fit. SOCK_STREAM and its flags are enumerators of `enum
// __socket_type`, and a socket address is a C union by cast.
static inline int ringwake_dbus_connect(const uint8_t *name, size_t length, bool is_abstract) {
    struct sockaddr_un address;
    if (length == 0 || length + 1 > sizeof address.sun_path) return -ENAMETOOLONG;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path + (is_abstract ? 1 : 0), name, length);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    if (connect(descriptor, (const struct sockaddr *)&address, size) < 0) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

// fcntl is variadic.
static inline int ringwake_dbus_duplicate(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 3); }

// A connected pair, non-blocking and close-on-exec. Returns 0 or a negative errno.
static inline int ringwake_dbus_pair(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0;
}

// Receives bytes and descriptors. `count` is the capacity of `descriptors`, and is set to the number received;
// descriptors that don't fit are closed. Returns the bytes read, 0 at the end, or a negative errno. Control messages
// are macros over a C layout.
static inline ssize_t ringwake_dbus_receive(
    int descriptor, uint8_t *bytes, size_t capacity, int *descriptors, size_t *count
) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * 253)];
    } control;
    struct iovec part = {bytes, capacity};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};
    size_t fitting = *count < 253 ? *count : 253;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fitting);
    *count = 0;
    ssize_t length = recvmsg(descriptor, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0) return -errno;
    for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one)) {
        if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
        size_t received = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t index = 0; index < received; index++) {
            int number;
            memcpy(&number, CMSG_DATA(one) + index * sizeof(int), sizeof number);
            if (*count < fitting) descriptors[(*count)++] = number;
            else close(number);
        }
    }
    return length;
}

// Sends bytes and descriptors; the receiver gets copies of these. Returns the bytes sent, or a negative errno.
static inline ssize_t ringwake_dbus_send(
    int descriptor, const uint8_t *bytes, size_t length, const int *descriptors, size_t count
) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * 253)];
    } control;
    struct iovec part = {(void *)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 253) return -EINVAL;
    if (count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(&control.header), descriptors, sizeof(int) * count);
    }
    ssize_t sent = sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

#endif

internal import Glibc

/// Has the kernel reset the socket's connection when it is closed, and not repeat for minutes what was not acknowledged:
/// until then no other connection can have the same local port and the same peer. See socket(7), SO_LINGER.
func resetOnClose(_ descriptor: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    // It fails only if the socket is already gone.
    _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
}

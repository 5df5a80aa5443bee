internal import CRingwakeLinux
internal import Glibc

/// An eventfd: one thread rings, the other hears it, however often it was rung since.
package final class EventDescriptor: Sendable {
    package let number: Int32

    /// - Parameter nonblocking: Hearing does not wait: for one that is watched by a loop.
    /// - Throws: EMFILE, ENFILE, ENOMEM.
    package init(nonblocking: Bool) throws(RunLoopError) {
        number = ringwake_eventfd(nonblocking ? 1 : 0)
        guard number >= 0 else { throw RunLoopError(operation: "eventfd", errno: errno) }
    }

    deinit {
        if number >= 0 { close(number) }
    }

    package func ring() {
        // Fails only when the counter is full, and then it was rung.
        _ = eventfd_write(number, 1)
    }

    /// Waits until it is rung, unless it does not block, and silences it.
    package func hear() {
        var value: eventfd_t = 0
        while eventfd_read(number, &value) < 0, errno == EINTR {}
    }

    /// Waits until it is rung, without silencing it.
    /// - Returns: False when it was not within that time.
    package func wait(milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }
}

internal import CRingwakeLinux
internal import Glibc

/// An eventfd: one thread signals, another waits. Several signals count as one.
package final class EventDescriptor: Sendable {
    package let number: Int32

    /// - Parameter nonblocking: ``hear()`` doesn't block; for a descriptor that a loop watches.
    /// - Throws: EMFILE, ENFILE, ENOMEM.
    package init(nonblocking: Bool) throws(RunLoopError) {
        number = ringwake_eventfd(nonblocking ? 1 : 0)
        guard number >= 0 else { throw RunLoopError(operation: "eventfd", errno: errno) }
    }

    deinit {
        if number >= 0 { close(number) }
    }

    package func ring() {
        // This fails only if the counter is full, so the event is already signalled.
        _ = eventfd_write(number, 1)
    }

    /// Waits for a signal, unless it is non-blocking, and clears it.
    package func hear() {
        var value: eventfd_t = 0
        while eventfd_read(number, &value) < 0, errno == EINTR {}
    }

    /// Waits for a signal without clearing it.
    /// - Returns: false after the timeout.
    package func wait(milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }
}

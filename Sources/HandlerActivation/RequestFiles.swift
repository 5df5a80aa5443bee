internal import CRingwakeLinux
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// Files in memory that hold one handler's request each. One is kept ready, so that a wake does not wait for it.
final class RequestFiles {
    private var spare: Int32 = -1

    isolated deinit {
        if spare >= 0 { close(spare) }
    }

    /// Makes the next file beforehand. What fails now fails again when it is needed, and is said then.
    func prepare() {
        if spare < 0 { spare = ringwake_memfd("ringwake-request") }
    }

    /// The request as a file in memory, for the caller to close: whole before the handler starts, so the handler never
    /// waits for the daemon, and no capacity of a pipe limits it.
    func open(_ request: WakeRequest) throws(RingwakeError) -> Int32 {
        let now = BootInstant(nanoseconds: BootClock.now().nanoseconds)
        let file = make(HandlerInput.bytes(of: request, at: now))
        guard file < 0 else { return file }
        let reason = String(cString: strerror(errno))
        throw RingwakeError(
            .system,
            "the handler of \(request.app) was not started: its request cannot be written to memory: \(reason);"
                + " raise LimitNOFILE= of the service, or see that memory is free")
    }

    /// A file with these bytes, which nobody can change and which is read from its beginning; for the caller to close.
    /// - Returns: -1 with errno when there is no descriptor or no memory.
    func make(_ bytes: [UInt8]) -> Int32 {
        prepare()
        let file = spare
        spare = -1
        guard file >= 0 else { return -1 }
        // At offset 0, where the handler begins to read.
        let written = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
        if written == bytes.count, ringwake_seal(file) == 0 { return file }
        let reason = errno
        close(file)
        errno = reason
        return -1
    }
}

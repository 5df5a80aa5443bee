internal import CRingwakeLinux
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// Creates memory files that hold one handler's request each. One is kept ready, so that a wake doesn't wait for it.
///
/// Where the kernel has no memory files (before Linux 3.17, or in a sandbox), they are files without a name in the runtime
/// directory, which can't be sealed.
final class RequestFiles {
    private var spare: Int32 = -1
    private var isMemory = true
    private let directory: String

    /// - Parameter directory: the runtime directory.
    init(directory: String) {
        self.directory = directory
    }

    isolated deinit {
        if spare >= 0 { close(spare) }
    }

    /// Creates the next file in advance. An error now will recur when the file is needed, and is reported there.
    func prepare() {
        guard spare < 0 else { return }
        spare = ringwake_memfd("ringwake-request")
        isMemory = spare >= 0
        if !isMemory, errno == ENOSYS || errno == EPERM { spare = UnnamedFile.open(in: directory) }
    }

    /// The request as a memory file that the caller closes. It is complete before the handler starts, so the handler
    /// never waits for the daemon, and no pipe capacity limits it.
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

    /// A sealed file with these bytes, read from the beginning. The caller closes it.
    /// - Returns: -1 with errno if there is no descriptor or no memory.
    func make(_ bytes: [UInt8]) -> Int32 {
        prepare()
        let file = spare
        spare = -1
        guard file >= 0 else { return -1 }
        // At offset 0: the handler reads from the file's present position, which stays 0.
        let written = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
        if written == bytes.count, !isMemory || ringwake_seal(file) == 0 { return file }
        let reason = errno
        close(file)
        errno = reason
        return -1
    }
}

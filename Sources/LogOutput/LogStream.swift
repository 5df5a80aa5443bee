internal import CRingwakeLinux
internal import Glibc
internal import Synchronization

/// Writes log lines to a descriptor without ever waiting.
///
/// A reader that has stopped reading (a paused terminal, a full pipe) must not block a call. A line that can't be
/// written at once is lost; the next line that can be written follows a notice with the number of lost lines.
final class LogStream: Sendable {
    private let descriptor: Int32
    private let isOwn: Bool
    private let isSocket: Bool
    /// Lines lost since the last one that was written.
    private let lostLines = Atomic<UInt64>(0)
    /// Whether a terminal accepted only the beginning of the last line.
    private let isLineCut = Atomic<Bool>(false)

    /// Maximum bytes of a line. A pipe accepts this many atomically (PIPE_BUF, pipe(7)).
    static let maximumLineBytes = 4096

    /// - Parameter descriptor: owned by the caller. It has to stay open while this object lives.
    init(_ descriptor: Int32) {
        var information = stat()
        let kind = fstat(descriptor, &information) == 0 ? information.st_mode & S_IFMT : 0
        isSocket = kind == S_IFSOCK
        // O_NONBLOCK applies to the open file description, which our parent also uses. So open a pipe or a terminal
        // again. Writing to a regular file never blocks.
        let own =
            kind == S_IFIFO || kind == S_IFCHR
            ? ringwake_reopen(descriptor, O_WRONLY | O_NONBLOCK | O_NOCTTY) : -1
        isOwn = own >= 0
        self.descriptor = isOwn ? own : descriptor
    }

    deinit {
        if isOwn { close(descriptor) }
    }

    /// Writes a line, which ends in a newline and has at most ``maximumLineBytes``.
    ///
    /// - Parameter notice: makes the line that reports the lost lines.
    func write(_ line: [UInt8], notice: (_ lostLines: UInt64) -> [UInt8]) {
        let lost = lostLines.load(ordering: .relaxed)
        if lost == 0 || take(notice(lost)) {
            lostLines.wrappingSubtract(lost, ordering: .relaxed)
            if take(line) { return }
        }
        lostLines.wrappingAdd(1, ordering: .relaxed)
    }

    /// Writes `line`. Returns false if not all of it was accepted.
    private func take(_ line: [UInt8]) -> Bool {
        // Only for a descriptor that couldn't be opened again: don't write while it is full.
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&entry, 1, 0) == 1, entry.revents & Int16(POLLOUT) != 0 else { return false }
        let bytes = isLineCut.load(ordering: .relaxed) ? [UInt8(ascii: "\n")] + line : line
        let count = bytes.withUnsafeBytes { buffer in
            isSocket
                ? send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                : Glibc.write(descriptor, buffer.baseAddress, buffer.count)
        }
        guard count > 0 else { return false }
        isLineCut.store(count < bytes.count, ordering: .relaxed)
        return count == bytes.count
    }
}

import Glibc
import RingwakeCore

/// A stream of text to a descriptor, or to memory.
final class Output {
    private enum Sink {
        case descriptor(Int32)
        case memory
    }

    private let sink: Sink
    private var failure: Int32?

    /// What was written to memory.
    private(set) var text = ""

    /// Whether the reader is there. A reader that has gone (`| head -1`) is no error: the rest is dropped.
    private(set) var isOpen = true

    /// Writes to `descriptor`, unbuffered.
    init(descriptor: Int32) {
        sink = .descriptor(descriptor)
    }

    /// Collects in ``text``, for tests.
    init() {
        sink = .memory
    }

    /// The descriptor to wait on for a reader that leaves; nil in memory.
    var descriptor: Int32? {
        if case .descriptor(let descriptor) = sink { descriptor } else { nil }
    }

    var isTerminal: Bool {
        descriptor.map { isatty($0) == 1 } ?? false
    }

    /// Writes all of `text`; a failure is kept for ``finish()``.
    func write(_ text: String) {
        write(bytes: Array(text.utf8))
    }

    /// Writes all of `bytes`, which need not be text, as they are.
    func write(bytes: [UInt8]) {
        guard isOpen, failure == nil else { return }
        switch sink {
        case .memory: text += String(decoding: bytes, as: UTF8.self)
        case .descriptor(let descriptor): write(bytes, to: descriptor)
        }
    }

    /// Throws when something could not be written, such as to a full disk.
    func finish() throws(RingwakeError) {
        guard let failure else { return }
        throw RingwakeError(
            .system, "the output could not be written: \(String(cString: strerror(failure))); it is incomplete")
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32) {
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written > 0 {
                offset += written
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: waitUntilWritable(descriptor)
            case EPIPE:
                isOpen = false
                return
            default:
                failure = errno
                return
            }
        }
    }

    /// Another program may have made the shared terminal non-blocking.
    private func waitUntilWritable(_ descriptor: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
    }
}

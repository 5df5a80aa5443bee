internal import CRingwakeLinux
internal import Glibc

/// The kernel's reports of changes to files (inotify(7)).
package final class Inotify {
    /// One report.
    package struct Event {
        /// The watch that it is for; -1 where reports were lost (`IN_Q_OVERFLOW`).
        package let watch: Int32
        /// `IN_*`.
        package let mask: UInt32
        /// Of a directory: the name in it; else empty.
        package let name: String
    }

    /// Bytes of events read at once; one with a name has up to 272.
    private static let bufferBytes = 16_384

    /// Readable when there are events. Open as long as this object.
    package let descriptor: Int32

    /// - Throws: EMFILE, ENFILE: a user has few of these, which all programs share (fs.inotify.max_user_instances).
    package init() throws(RunLoopError) {
        descriptor = ringwake_inotify()
        guard descriptor >= 0 else { throw RunLoopError(operation: "inotify_init1", errno: errno) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Takes what has come, up to so many buffers.
    package func events(maximumBuffers: Int = 1) -> [Event] {
        var events: [Event] = []
        withUnsafeTemporaryAllocation(byteCount: Self.bufferBytes, alignment: 8) { buffer in
            for _ in 0..<maximumBuffers {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                let header = MemoryLayout<inotify_event>.size
                var position = 0
                while position + header <= count {
                    let event = buffer.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
                    let end = min(count, position + header + Int(event.len))
                    let name = String(decoding: buffer[(position + header)..<end].prefix { $0 != 0 }, as: UTF8.self)
                    events.append(Event(watch: event.wd, mask: event.mask, name: name))
                    position = end
                }
            }
        }
        return events
    }
}

internal import CRingwakeLinux
internal import Glibc

/// Watches files for changes (inotify(7)).
package final class Inotify {
    /// One event.
    package struct Event {
        /// The watch that it is for; -1 if the kernel lost events (`IN_Q_OVERFLOW`).
        package let watch: Int32
        /// `IN_*`.
        package let mask: UInt32
        /// For a directory: the name of the entry; otherwise empty.
        package let name: String
    }

    /// Read buffer size. An event with a name has up to 272 bytes.
    private static let bufferBytes = 16_384

    /// Readable when there are events. Closed with this object.
    package let descriptor: Int32

    /// - Throws: EMFILE, ENFILE. The number of instances per user is low, and all programs share it
    ///   (fs.inotify.max_user_instances).
    package init() throws(RunLoopError) {
        descriptor = ringwake_inotify()
        guard descriptor >= 0 else { throw RunLoopError(operation: "inotify_init1", errno: errno) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Reads events, at most `maximumBuffers` buffers full.
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

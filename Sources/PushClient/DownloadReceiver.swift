import RingwakeCore

/// Passes a file on as it arrives, and keeps its validators.
final class DownloadReceiver: TransferReceiver {
    /// Maximum bytes of a header value; longer values are ignored.
    private static let maximumValueBytes = 256

    /// Maximum bytes of the file.
    let maximumBytes: Int64
    /// Called with each piece of the file.
    var receive: (([UInt8]) throws(RingwakeError) -> Void)?
    /// What ``receive`` threw.
    private(set) var failure: RingwakeError?
    /// Received bytes.
    private(set) var bytes: Int64 = 0
    private(set) var isTooLong = false
    private(set) var etag: String?
    private(set) var lastModified: String?
    private var status = 0

    init(maximumBytes: Int64) {
        self.maximumBytes = maximumBytes
    }

    func reset() {
        failure = nil
        bytes = 0
        isTooLong = false
        beginAnswer(status: 0)
    }

    func takeBody(_ piece: UnsafeRawBufferPointer) -> Bool {
        bytes += Int64(piece.count)
        guard bytes <= maximumBytes else {
            isTooLong = true
            return false
        }
        // Ignore the body of an error or a redirection.
        guard status == 200, let receive else { return true }
        do throws(RingwakeError) {
            try receive(Array(piece))
            return true
        } catch {
            failure = error
            return false
        }
    }

    func takeHeader(_ line: UnsafeRawBufferPointer) {
        // "HTTP/2 200": each answer of a chain of redirections begins with one.
        if line.count >= 5, line[..<5].elementsEqual("HTTP/".utf8) {
            let words = line.split(separator: 0x20, maxSplits: 2)
            beginAnswer(status: words.count > 1 ? Int(String(decoding: words[1].prefix(3), as: UTF8.self)) ?? 0 : 0)
            return
        }
        guard let field = HeaderField(line, maximumValueBytes: DownloadReceiver.maximumValueBytes) else { return }
        switch field.name {
        case "etag": etag = field.value
        case "last-modified": lastModified = field.value
        default: break
        }
    }

    private func beginAnswer(status: Int) {
        self.status = status
        etag = nil
        lastModified = nil
    }
}

internal import Glibc

/// Reads the push that the daemon writes to a started handler's standard input.
enum StandardInput {
    /// Far more than a push has.
    private static let maximumBytes = 1 << 20

    /// Reads standard input to its end.
    /// - Throws: `invalidRequest`: the input is larger than any push; `system`.
    static func read(from descriptor: Int32 = STDIN_FILENO) throws(RingwakeKitError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw RingwakeKitError(.system, "standard input cannot be read: \(String(cString: strerror(errno)))")
            }
            bytes += buffer[..<count]
            guard bytes.count <= maximumBytes else {
                throw RingwakeKitError(.invalidRequest, "there is more on standard input than a push can be")
            }
        }
    }
}

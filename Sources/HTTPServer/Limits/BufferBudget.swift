/// Limits the bytes of requests that the whole server holds, for all listeners and connections. Each connection also
/// has its own guaranteed bytes (``ConnectionLimits/guaranteedBufferBytes``).
///
/// A stream that would exceed the limit is refused with REFUSED_STREAM, and the client may repeat it.
package final class BufferBudget {
    /// The limit in bytes.
    package let capacity: Int
    /// Bytes reserved now.
    package private(set) var used = 0

    /// The default limit: 32 MiB.
    package nonisolated static let defaultCapacity = 32 * 1024 * 1024

    package init(capacity: Int = BufferBudget.defaultCapacity) {
        precondition(capacity > 0)
        self.capacity = capacity
    }

    /// Reserves bytes. Returns false, and reserves nothing, if there aren't enough left.
    func reserve(_ count: Int) -> Bool {
        guard count <= capacity - used else { return false }
        used += count
        return true
    }

    /// Releases reserved bytes.
    func release(_ count: Int) {
        precondition(count <= used)
        used -= count
    }
}

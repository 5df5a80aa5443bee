/// How many bytes of requests the whole server may hold, shared by its listeners and connections, beyond what each
/// connection may hold anyway (``ConnectionLimits/guaranteedBufferBytes``).
///
/// A stream that would exceed it is refused with REFUSED_STREAM, which clients repeat.
package final class BufferBudget {
    /// The bound in bytes.
    package let capacity: Int
    /// Bytes reserved now.
    package private(set) var used = 0

    /// The usual bound: 32 MiB.
    package nonisolated static let defaultCapacity = 32 * 1024 * 1024

    package init(capacity: Int = BufferBudget.defaultCapacity) {
        precondition(capacity > 0)
        self.capacity = capacity
    }

    /// Takes bytes from the budget; false, and nothing taken, when there are not so many left.
    func reserve(_ count: Int) -> Bool {
        guard count <= capacity - used else { return false }
        used += count
        return true
    }

    /// Gives back what was reserved.
    func release(_ count: Int) {
        precondition(count <= used)
        used -= count
    }
}

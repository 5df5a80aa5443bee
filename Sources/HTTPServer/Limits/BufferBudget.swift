/// Limits the bytes of requests that the whole server holds, for all listeners and connections.
///
/// Each proven sender has a guaranteed part (``FairShares``). All connections that have proven nothing share a small part.
/// A stream that would exceed a limit is refused with REFUSED_STREAM, and the client may repeat it.
package final class BufferBudget {
    private var proven: FairShares
    private let unprovenCapacity: Int
    private var unprovenBytes = 0

    /// The default limit: 32 MiB.
    package nonisolated static let defaultCapacity = 32 * 1024 * 1024
    /// One part of this many is for the connections that have proven nothing.
    private static let unprovenPart = 16

    /// - Parameters:
    ///   - capacity: the limit in bytes.
    ///   - accounts: the number of accounts that get a guaranteed part.
    package init(capacity: Int = BufferBudget.defaultCapacity, accounts: Int = 1) {
        precondition(capacity > 0)
        unprovenCapacity = capacity / Self.unprovenPart
        proven = FairShares(capacity: capacity - unprovenCapacity, accounts: accounts)
    }

    /// Bytes reserved now.
    package var used: Int { proven.used + unprovenBytes }

    /// Guarantees a part to each of this many accounts.
    package func divide(among accounts: Int) { proven.divide(among: accounts) }

    /// Reserves bytes. Returns false, and reserves nothing, if there aren't enough left.
    ///
    /// - Parameter account: nil for a connection that has proven nothing.
    func reserve(_ count: Int, for account: String?) -> Bool {
        if let account { return proven.take(count, for: account) }
        guard count <= unprovenCapacity - unprovenBytes else { return false }
        unprovenBytes += count
        return true
    }

    /// Releases reserved bytes.
    func release(_ count: Int, of account: String?) {
        if let account { return proven.give(count, of: account) }
        precondition(count <= unprovenBytes)
        unprovenBytes -= count
    }

    /// Charges bytes of a connection that had proven nothing to the account that it has proven now.
    func charge(_ count: Int, to account: String) {
        release(count, of: nil)
        proven.takeAnyway(count, for: account)
    }
}

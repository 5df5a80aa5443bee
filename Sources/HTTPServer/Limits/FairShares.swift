/// Divides a capacity among accounts, so that no account can use up what another needs.
///
/// Half of the capacity is guaranteed: each account has an equal part of it. The other half is for whoever asks first.
package nonisolated struct FairShares: Sendable {
    /// What there is in all.
    package let capacity: Int
    /// What all accounts use together.
    package private(set) var used = 0

    /// The part of each account that no other account can use.
    private var guaranteed: Int
    private var accounts: Int
    private var usedBy: [String: Int] = [:]
    /// What the accounts use beyond their guaranteed parts.
    private var borrowed = 0

    package init(capacity: Int, accounts: Int = 1) {
        precondition(capacity >= 0)
        self.capacity = capacity
        (self.accounts, guaranteed) = Self.parts(of: capacity, accounts)
    }

    /// Guarantees parts to this many accounts. What is in use stays so.
    package mutating func divide(among accounts: Int) {
        (self.accounts, guaranteed) = Self.parts(of: capacity, accounts)
        borrowed = usedBy.values.reduce(0) { $0 + beyond($1) }
    }

    private static func parts(of capacity: Int, _ accounts: Int) -> (Int, Int) {
        (max(1, accounts), capacity / 2 / max(1, accounts))
    }

    /// Takes `count` for an account. Returns false, and takes nothing, if there aren't enough left for it.
    package mutating func take(_ count: Int, for account: String) -> Bool {
        guard hasRoom(for: count, of: account) else { return false }
        takeAnyway(count, for: account)
        return true
    }

    /// Whether `count` are left for an account.
    package func hasRoom(for count: Int, of account: String) -> Bool {
        let before = usedBy[account, default: 0]
        let more = beyond(before + count) - beyond(before)
        return (more == 0 || more <= capacity - guaranteed * accounts - borrowed) && count <= capacity - used
    }

    /// Takes `count` that is in use already, even if it is more than the account may have.
    mutating func takeAnyway(_ count: Int, for account: String) {
        let before = usedBy[account, default: 0]
        borrowed += beyond(before + count) - beyond(before)
        usedBy[account] = before + count
        used += count
    }

    /// Returns `count` of an account.
    package mutating func give(_ count: Int, of account: String) {
        let before = usedBy[account, default: 0]
        precondition(count <= before)
        borrowed -= beyond(before) - beyond(before - count)
        usedBy[account] = before == count ? nil : before - count
        used -= count
    }

    private func beyond(_ used: Int) -> Int { max(0, used - guaranteed) }
}

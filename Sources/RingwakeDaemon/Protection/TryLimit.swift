internal import Logging
internal import RingwakeCore

/// Limits how often a wrong key may be tried: after some in a row, one try in some seconds is looked at. The limit is the
/// daemon's, not a connection's, because each try may come by another one.
nonisolated struct TryLimit {
    /// Wrong keys in a row that cost nothing: a person's typing errors.
    static let freeTries = 5
    /// The time between two tries after that. Guessing a passphrase costs more by scrypt already.
    static let pause = Duration.seconds(5)

    private var wrong = 0
    private var last: BootInstant?

    /// Tries a key.
    ///
    /// - Throws: `limitReached` if this try may not be looked at now; what `body` throws, `badCredential` for a wrong key.
    mutating func check(
        at now: BootInstant, _ logger: Logger, _ body: () throws(RingwakeError) -> Void
    ) throws(RingwakeError) {
        try allow(at: now)
        do throws(RingwakeError) {
            try body()
        } catch {
            if error.code == .badCredential {
                failed(at: now)
                logger.warning("a wrong passphrase was entered")
            }
            throw error
        }
        succeeded()
    }

    /// - Throws: `limitReached` if this try may not be looked at now.
    func allow(at now: BootInstant) throws(RingwakeError) {
        guard wrong >= Self.freeTries, let last else { return }
        let left = now.duration(to: last.advanced(by: Self.pause))
        guard left > .zero else { return }
        let seconds = left.components.seconds + (left.components.attoseconds > 0 ? 1 : 0)
        throw RingwakeError(
            .limitReached, "\(wrong) wrong passphrases in a row; try again in \(seconds) seconds")
    }

    mutating func failed(at now: BootInstant) {
        wrong = min(wrong + 1, Self.freeTries)
        last = now
    }

    mutating func succeeded() { self = TryLimit() }
}

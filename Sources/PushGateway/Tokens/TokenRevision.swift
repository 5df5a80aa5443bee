import RingwakeCore

/// The revision of a device's registrations, which only rises.
enum TokenRevision {
    /// A gateway is ahead of its device by the changes that one of the two has lost. More than these is no loss.
    private static let maximumLead: UInt64 = 1 << 32

    /// The revision after one more change.
    ///
    /// - Throws: `limitReached` at the highest revision that a gateway takes.
    static func next(after revision: UInt64) throws(RingwakeError) -> UInt64 {
        guard revision < UInt64(Int64.max) else {
            throw RingwakeError(
                .limitReached, "the revision of the device tokens can't rise any more; restore a backup")
        }
        return revision + 1
    }

    /// The revision that the next one has to be above: the device's own, or the one that a gateway claims.
    ///
    /// - Throws: `invalidRequest` if the claim can't be true.
    static func raised(_ revision: UInt64, to claim: UInt64) throws(RingwakeError) -> UInt64 {
        guard claim > revision else { return revision }
        guard claim - revision <= maximumLead else {
            throw RingwakeError(
                .invalidRequest,
                "the gateway says that it has revision \(claim), this device has \(revision): that can't be true")
        }
        return claim
    }
}

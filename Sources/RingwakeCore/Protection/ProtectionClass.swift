/// When data at rest can be read: the four classes of iOS.
///
/// Raw values are stored, in records and in files, and never change.
package enum ProtectionClass: String, Codable, Hashable, Sendable, CaseIterable {
    /// Always. It is stored as it is.
    case none
    /// Only while the device is unlocked.
    case complete
    /// While the device is unlocked. In addition, a handler can read what belongs to the call that it has, until that
    /// call has ended.
    case completeUnlessOpen
    /// From the first unlocking after the device has started, until it is switched off.
    case completeUntilFirstUserAuthentication

    /// The classes that have keys.
    package static let withKeys: [ProtectionClass] = [
        .complete, .completeUnlessOpen, .completeUntilFirstUserAuthentication,
    ]
}

/// A kind of stored data that has a protection class.
///
/// What a push needs to find its way, and a call its deadlines, has none: without it a locked device could not ring.
package enum ProtectedKind: String, Codable, Hashable, Sendable, CaseIterable, CodingKeyRepresentable {
    /// What the senders of pushes wrote.
    case payloads
    /// Who called.
    case callers
    /// What apps store with the daemon.
    case appState
    /// The entries of the lists of callers. Which lists there are, everybody may know.
    case lists

    /// The class of the kind if no other is configured.
    package var standardClass: ProtectionClass { .completeUntilFirstUserAuthentication }
}

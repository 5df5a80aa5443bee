extension EventMessage {
    /// Whether data of the class `complete` can be read. A stream begins with it.
    package struct ProtectedData: EventContent {
        package static let name = Name.protectedData

        package enum CodingKeys: String, CodingKey, CaseIterable { case state, deadlineMs }

        /// See ``EventMessage/ProtectedData/state``.
        package enum State: String, Sendable, CaseIterable {
            case available
            /// In ``deadlineMs``. What has to be written or read is written or read now.
            case willBecomeUnavailable
            case unavailable
        }

        /// One of ``State``.
        package var state: String
        /// With `willBecomeUnavailable`: milliseconds until then.
        package var deadlineMs: Int64?

        package init(_ state: State, deadlineMs: Int64? = nil) {
            self.state = state.rawValue
            self.deadlineMs = deadlineMs
        }
    }
}

import RingwakeCore

/// The result of one look at one thing.
struct Finding: Encodable, Equatable {
    /// What it means for an incoming call.
    enum State: String, Encodable, CaseIterable {
        /// It works.
        case ok
        /// Worth knowing; the device rings.
        case note
        /// The device will not ring soon, or not in every case; or nothing would bring its store back.
        case warning
        /// The device does not ring.
        case problem
    }

    /// The check that found it, a stable word.
    let check: String
    let state: State
    /// What was found.
    let message: String
    /// What to do about it; nil if there is nothing to do.
    let hint: String?
    /// The exit status, if this finding decides it.
    let exitStatus: Int32

    enum CodingKeys: CodingKey {
        case check, state, message, hint
    }

    private init(_ check: String, _ state: State, _ message: String, hint: String?, code: RingwakeError.Code) {
        self.check = check
        self.state = state
        self.message = message
        self.hint = hint
        exitStatus = code.exitStatus
    }

    static func ok(_ check: String, _ message: String) -> Finding {
        Finding(check, .ok, message, hint: nil, code: .failed)
    }

    static func note(_ check: String, _ message: String, hint: String? = nil) -> Finding {
        Finding(check, .note, message, hint: hint, code: .failed)
    }

    static func warning(_ check: String, _ message: String, hint: String) -> Finding {
        Finding(check, .warning, message, hint: hint, code: .failed)
    }

    static func problem(
        _ check: String, _ message: String, hint: String? = nil, code: RingwakeError.Code = .failed
    ) -> Finding {
        Finding(check, .problem, message, hint: hint, code: code)
    }
}

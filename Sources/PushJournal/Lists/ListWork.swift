internal import RingwakeCore

/// A request on the lists of callers, and the ticket that its answer carries.
nonisolated struct ListWork: Sendable {
    let ticket: UInt64
    let request: ListRequest
}

nonisolated enum ListRequest: Sendable {
    case command(CallerListCommand)
    case rebuildIndex(path: String, DiallingRules)

    /// Whether it reads or writes entries, or changes what an index is built from.
    var needsEntries: Bool {
        switch self {
        case .command(.all), .command(.create), .command(.abortImport): false
        case .command, .rebuildIndex: true
        }
    }
}

nonisolated enum ListAnswer: Sendable {
    case result(CallerListResult)
    case index(Int)
}

/// The errors of requests on lists of callers.
nonisolated enum ListError {
    /// The maximum length of a list's name in bytes.
    static let maximumNameBytes = 64

    static func noList(_ name: String) -> RingwakeError {
        RingwakeError(.notFound, "there is no list of callers '\(name)'; 'ringwake block list' shows all")
    }

    static func otherKind(_ list: CallerListRecord) -> RingwakeError {
        RingwakeError(
            .conflict,
            "the list \"\(list.name)\" is of the kind \(list.kind.rawValue); remove it, or choose another name.")
    }

    static func locked(_ protection: ProtectionClass) -> RingwakeError {
        RingwakeError(
            .locked,
            "the entries of lists of callers have the protection class \(protection.rawValue), which can't be read now; "
                + "unlock the device, or see what 'ringwake protection status' says")
    }

    static let badName = RingwakeError(
        .invalidRequest, "the name of a list of callers has 1 to \(maximumNameBytes) bytes.")

    static func tooManyLists(_ maximum: Int) -> RingwakeError {
        RingwakeError(.limitReached, "there are \(maximum) lists of callers, and no more can be kept; remove one.")
    }

    static func tooManyEntries(_ maximum: Int) -> RingwakeError {
        RingwakeError(
            .limitReached, "the lists of callers would have more than \(maximum) entries; remove a list, or entries.")
    }

    static func noImport(_ id: String) -> RingwakeError {
        RingwakeError(
            .notFound,
            "the import \(id) is not in progress: another one into its list has begun, or ringwaked was restarted; "
                + "begin it again.")
    }

    static func tooManyImports(_ maximum: Int) -> RingwakeError {
        RingwakeError(.limitReached, "\(maximum) imports are in progress already; wait for one of them to end.")
    }

    static let unexpectedAnswer = RingwakeError(
        .failed, "the journal gave an answer of another kind; this is a bug, report it.")

    static let closed = RingwakeError(.failed, "the journal is closed because the daemon is stopping; try again later.")
}

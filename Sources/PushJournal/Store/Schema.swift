/// What is asked of the tables of the store, which ``SchemaSteps`` makes.
///
/// Durations are nanoseconds since the push's arrival, so that a row means the same in every boot; the arrival itself
/// is there by the wall clock (milliseconds since 1970) and by the clock of its boot (nanoseconds). Texts are as the
/// sender wrote them, NUL included, and are therefore compared by what honours their length: `lower()` folds the case
/// of an `apns-id`, because the collation NOCASE ends at a NUL.
nonisolated enum Schema {
    /// `PRAGMA application_id`: "Ring".
    static let applicationID: Int64 = 0x5269_6e67
    /// `PRAGMA user_version` of what this version writes.
    static let version = Int64(SchemaSteps.all.count)

    /// Columns of `push`, in the order in which they are bound and read.
    static let pushColumns = [
        "sequence", "apns_id", "app", "topic", "environment", "team", "priority", "collapse_id", "call_id", "outcome",
        "boot", "received_boot", "received_wall", "journaled",
    ]

    /// Columns of `call`, in the order in which they are bound and read; the first are settled by the first record.
    static let callColumns = settledCallColumns + changingCallColumns

    private static let settledCallColumns = [
        "number", "app", "id", "topic", "environment", "team", "apns_id", "boot", "received_boot", "received_wall",
    ]

    private static let changingCallColumns = [
        "is_missed", "state", "reason", "detail", "caller", "caller_name", "has_video", "attempt", "ring_before",
        "is_one_attempt", "ring_time", "verified", "journaled", "woke", "reported", "rang", "answered", "connected",
        "audio_active", "hung_up", "ended", "identified_as", "restriction",
    ]

    // MARK: - Statements

    /// Changes nothing when the same push is there.
    static let insertPush =
        "INSERT INTO push (\(list(pushColumns))) VALUES (\(parameters(pushColumns))) "
        + "ON CONFLICT (lower(apns_id), app, environment, team) DO NOTHING"

    private static let insertIntoCall =
        "INSERT INTO call (\(list(callColumns))) VALUES (\(parameters(callColumns)))"

    /// Changes nothing when the number, or the app's and the team's id, is there.
    static let insertCall = insertIntoCall + " ON CONFLICT DO NOTHING"

    /// Changes nothing when another number has the app's and the team's id.
    static let upsertCall =
        insertIntoCall
        + " ON CONFLICT (number) DO UPDATE SET \(assignments) WHERE \(isNewer) ON CONFLICT (id, app, team) DO NOTHING"

    /// Takes what `insertCall` takes.
    static let updateCall = "UPDATE call SET \(assignments) WHERE number = ?1 AND state <> 'ended'"

    /// What has ended stays so: a record that says otherwise is older, and has only waited longer.
    private static let isNewer = "call.state <> 'ended' OR excluded.state = 'ended'"

    /// `SELECT` of the columns of a push and, where the journal has it, of its call.
    static let selectPush =
        "SELECT \(list(pushColumns, of: "push")), \(list(callColumns, of: "call")) "
        + "FROM push LEFT JOIN call ON call.id = push.call_id AND call.app = push.app AND call.team = push.team"

    /// `SELECT` of the columns of a call.
    static let selectCall = "SELECT \(list(callColumns)) FROM call"

    private static var assignments: String {
        changingCallColumns.enumerated()
            .map { "\($0.element) = ?\(settledCallColumns.count + $0.offset + 1)" }
            .joined(separator: ", ")
    }

    private static func list(_ columns: [String], of table: String? = nil) -> String {
        let prefix = table.map { $0 + "." } ?? ""
        return columns.map { prefix + $0 }.joined(separator: ", ")
    }

    private static func parameters(_ columns: [String]) -> String {
        (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
    }
}

/// The SQL statements on the store's tables, which ``StoreModels`` describes.
///
/// Durations are nanoseconds since the push's arrival, so that a row means the same in every boot. The arrival itself
/// is stored by the wall clock (milliseconds since 1970) and by the clock of a boot (nanoseconds). Texts are stored as
/// the sender wrote them, and may contain NUL. So they are compared by functions that use their length: `lower()` folds
/// the case of a push's id, because the collation NOCASE stops at a NUL.
///
/// A call has rows in `payload` exactly until it has ended. So `payload` is also the index of the open calls, and an
/// update of a call changes no index.
nonisolated enum Schema {
    /// Columns of `push`, in the order of binding and reading.
    static let pushColumns = [
        "sequence", "push_id", "app", "topic", "door", "sender", "priority", "collapse_id", "call_id", "outcome",
        "boot", "received_boot", "received_wall", "journaled",
    ]

    /// Columns of `call`, in the order of binding and reading. Everything that no query needs is in `snapshot`
    /// (``CallSnapshot``), whose version is in the column before it, and in `caller`: who called, as a protected record.
    static let callColumns = settledCallColumns + changingCallColumns

    /// Many times the size of the largest snapshot.
    private static let maximumSnapshotBytes = 64 << 10

    private static let settledCallColumns = ["number", "app", "id", "sender", "received_wall"]

    private static let changingCallColumns = [
        "boot", "received_boot", "state", "is_missed", "version", "snapshot", "caller",
    ]

    // MARK: - Statements

    /// Changes nothing if the same push exists.
    static let insertPush =
        "INSERT INTO push (\(list(pushColumns))) VALUES (\(parameters(pushColumns))) "
        + "ON CONFLICT (lower(push_id), app, door, sender) DO NOTHING"

    private static let insertIntoCall =
        "INSERT INTO call (\(list(callColumns))) VALUES (\(parameters(callColumns)))"

    /// Changes nothing if the number exists, or if the id exists for the app and sender.
    static let insertCall = insertIntoCall + " ON CONFLICT DO NOTHING"

    /// Changes nothing if the id exists for the app and sender with another number.
    static let upsertCall =
        insertIntoCall
        + " ON CONFLICT (number) DO UPDATE SET \(assignments) WHERE \(isNewer) ON CONFLICT (id, app, sender) DO NOTHING"

    /// Takes the same parameters as `insertCall`.
    static let updateCall = "UPDATE call SET \(assignments) WHERE number = ?1 AND state <> 'ended'"

    /// A call that has ended stays ended: a record that says otherwise is older, and has only waited longer.
    private static let isNewer = "call.state <> 'ended' OR excluded.state = 'ended'"

    /// `SELECT` of the columns of a push and, if the journal has it, of its call.
    static let selectPush =
        "SELECT \(list(pushColumns, of: "push")), \(listToRead(of: "call")) "
        + "FROM push LEFT JOIN call ON call.id = push.call_id AND call.app = push.app AND call.sender = push.sender"

    /// `SELECT` of the columns of a call.
    static let selectCall = "SELECT \(listToRead(of: "call")) FROM call"

    /// Each payload is stored once. If the ring was recorded but not the push, the payload is empty until the push
    /// arrives again. The payload of a call that has ended is not needed.
    static let insertPayload =
        "INSERT INTO payload (call, push, bytes) SELECT ?1, ?2, ?3 FROM call WHERE number = ?1 AND state <> 'ended' "
        + "ON CONFLICT DO UPDATE SET bytes = ?3 WHERE length(bytes) = 0 AND length(?3) > 0"

    /// A caller that can't be read now stays: the record has none then.
    private static var assignments: String {
        changingCallColumns.enumerated()
            .map { column in
                let value = "?\(settledCallColumns.count + column.offset + 1)"
                return column.element + " = " + (column.element == "caller" ? "ifnull(\(value), call.caller)" : value)
            }
            .joined(separator: ", ")
    }

    private static func list(_ columns: some Sequence<String>, of table: String? = nil) -> String {
        let prefix = table.map { $0 + "." } ?? ""
        return columns.map { prefix + $0 }.joined(separator: ", ")
    }

    /// The columns of a call to read. What is longer than any valid value is damaged, and reads as empty.
    private static func listToRead(of table: String) -> String {
        callColumns.map { column in
            let value = "\(table).\(column)"
            switch column {
            case "snapshot": return bounded(value, maximumSnapshotBytes, orElse: "''")
            case "caller": return bounded(value, maximumSnapshotBytes, orElse: "x''")
            default: return value
            }
        }.joined(separator: ", ")
    }

    private static func bounded(_ value: String, _ maximum: Int, orElse empty: String) -> String {
        "CASE WHEN \(value) IS NULL OR length(\(value)) <= \(maximum) THEN \(value) ELSE \(empty) END"
    }

    private static func parameters(_ columns: [String]) -> String {
        (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
    }
}

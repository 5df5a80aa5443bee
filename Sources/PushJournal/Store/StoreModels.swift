package import StoreMigration

/// The versions of the store.
///
/// A released version never changes, and stays here until a decision says that it need not be opened any more
/// (Documentation/decisions/0058). A change makes a new version: copy the last model, change it, and add a policy where the
/// change can't be inferred.
package nonisolated enum StoreModels {
    /// All versions that this program opens.
    package static let all = StoreVersions(version7, [version8], policies: [8: StoreRecords.policies])

    /// Of ringwaked 0.1.0, the first release.
    private static let version7 = StoreModel(
        version: 7,
        [
            boot, push, call, payload, state, list, listEntry,
            // Generations without a list: those of unfinished imports, and those whose entries are to be removed.
            Entity("list_remains", [Column("generation", .integer, isKey: true)]),
            listStamp, epoch, device, mail,
        ])

    /// Payloads, callers, what apps store and the entries of lists are records with a protection class.
    private static let version8 = StoreModel(
        version: 8,
        [
            boot, push, callWithCaller, payload, state, list, listRecord,
            Entity("list_remains", [Column("generation", .integer, isKey: true)]),
            listStamp, epoch, device, mail, protection,
        ])

    private static let boot = Entity(
        "boot", [Column("id", .integer, isKey: true), Column("name", .text, isUnique: true)])

    private static let push = Entity(
        "push",
        [
            Column("sequence", .integer, isKey: true),
            Column("push_id", .text),
            Column("app", .text),
            Column("topic", .text),
            // One of APNs' environments.
            Column("door", .text),
            // A team.
            Column("sender", .text),
            Column("priority", .integer),
            Column("collapse_id", .text, isRequired: false),
            Column("call_id", .text),
            Column("outcome", .text),
            Column("boot", .integer),
            Column("received_boot", .integer),
            Column("received_wall", .integer),
            Column("journaled", .integer, isRequired: false),
        ],
        indices: [Index("push_identity", on: "push", ["lower(push_id)", "app", "door", "sender"], isUnique: true)],
        relations: [
            Relation("push.boot", ["boot"], to: "boot", ["id"]),
            Relation("push.call", ["call_id", "app", "sender"], to: "call", ["id", "app", "sender"]),
        ])

    private static let call = call([])

    /// Who called is apart from the snapshot, which is needed while the caller can't be read.
    private static let callWithCaller = call([Column("caller", .blob, isRequired: false)])

    private static func call(_ more: [Column]) -> Entity {
        Entity(
            "call",
            [
                Column("number", .integer, isKey: true),
                Column("app", .text),
                Column("id", .text),
                Column("sender", .text),
                Column("received_wall", .integer),
                Column("boot", .integer),
                Column("received_boot", .integer),
                Column("state", .text),
                Column("is_missed", .integer),
                // Of the snapshot.
                Column("version", .integer),
                Column("snapshot", .text),
            ] + more,
            indices: [
                // With the sender, so that a vendor that knows another's call ids can't use them up.
                Index("call_key", on: "call", ["id", "app", "sender"], isUnique: true),
                Index("call_missed", on: "call", ["number"], where: "is_missed = 1"),
            ],
            relations: [Relation("call.boot", ["boot"], to: "boot", ["id"])])
    }

    /// Separate from the push, so that the pages of the pushes stay small and a deleted payload leaves no trace.
    private static let payload = Entity(
        "payload", [Column("call", .integer), Column("push", .integer), Column("bytes", .blob)], key: ["call", "push"],
        hasRowID: false, relations: [Relation("payload.call", ["call"], to: "call", ["number"])])

    private static let state = Entity(
        "state",
        [
            Column("path", .text, isKey: true),
            // Of the data.
            Column("version", .integer),
            Column("boot", .integer),
            Column("written_boot", .integer),
            Column("written_wall", .integer),
            // Why the row was set aside.
            Column("reason", .text, isRequired: false),
            Column("data", .blob),
        ],
        hasRowID: false, relations: [Relation("state.boot", ["boot"], to: "boot", ["id"])])

    /// `generation` identifies the list's current entries. Those of an import have another one until it is finished.
    private static let list = Entity(
        "list",
        [
            Column("name", .text, isKey: true),
            Column("kind", .text),
            Column("source", .text, isRequired: false),
            Column("etag", .text, isRequired: false),
            Column("updated_wall", .integer),
            Column("entries", .integer),
            Column("generation", .integer, isUnique: true),
        ])

    private static let listEntry = listEntry(
        [Column("generation", .integer), Column("pattern", .text), Column("label", .text, isRequired: false)],
        key: "pattern")

    /// See ``ListRecords``.
    private static let listRecord = listEntry(
        [Column("generation", .integer), Column("key", .blob), Column("entry", .blob)], key: "key")

    private static func listEntry(_ columns: [Column], key: String) -> Entity {
        Entity(
            "list_entry", columns, key: ["generation", key], hasRowID: false,
            relations: [Relation("list_entry.list", ["generation"], to: "list", ["generation"])])
    }

    /// A new random stamp for each change of a list. It shows whether an index was built from the current entries.
    private static let listStamp = Entity(
        "list_stamp", [Column("id", .integer, isKey: true, check: "id = 1"), Column("stamp", .integer)],
        seed: ["1", "0"])

    /// Which store this is, and how often its log was begun; see ``StorePosition``.
    private static let epoch = Entity(
        "epoch",
        [
            Column("id", .integer, isKey: true, check: "id = 1"), Column("store", .integer), Column("number", .integer),
        ],
        seed: ["1", "random() & 9223372036854775807", "0"])

    /// Which keys all records of a kind have at least, or that they have several; see ``Rekeying``. A kind without a row:
    /// nothing of it was ever encrypted.
    private static let protection = Entity(
        "protection",
        [Column("kind", .text, isKey: true), Column("class", .text), Column("generation", .integer)], hasRowID: false)

    /// A gateway's devices.
    private static let device = Entity(
        "device", [Column("id", .text, isKey: true), Column("version", .integer), Column("data", .blob)],
        hasRowID: false)

    /// The pushes that wait for devices. A row is in no other place: it is removed when its device has it. `facts` is
    /// everything that no query needs.
    private static let mail = Entity(
        "mail",
        [
            Column("number", .integer, isKey: true),
            Column("run", .integer),
            Column("sequence", .integer),
            Column("device", .text),
            Column("boot", .integer),
            Column("received_boot", .integer),
            Column("received_wall", .integer),
            Column("version", .integer),
            Column("facts", .blob),
            Column("payload", .blob),
        ],
        indices: [Index("mail_key", on: "mail", ["run", "sequence"], isUnique: true)],
        relations: [
            Relation("mail.boot", ["boot"], to: "boot", ["id"]),
            Relation("mail.device", ["device"], to: "device", ["id"]),
        ])
}

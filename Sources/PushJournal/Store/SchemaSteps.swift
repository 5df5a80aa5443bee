/// The versions of the store's tables. A new store runs all steps, an older one those that it lacks, so both have the
/// same tables. A released step never changes.
nonisolated enum SchemaSteps {
    /// The step to a version: statements, then a conversion of rows, then more statements.
    struct Step {
        let statements: [String]
        var convert: (@Sendable (Connection) throws(SQLiteFailure) -> Void)?
        var after: [String] = []
    }

    /// The steps to version 1, 2, ... in order.
    static let all = [
        Step(statements: pushesAndCalls), Step(statements: statesAndLists), Step(statements: callAudio), oneRecordACall,
        Step(statements: provenance), Step(statements: epoch), Step(statements: links),
    ]

    private static let pushesAndCalls = [
        """
        CREATE TABLE boot (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE
        ) STRICT
        """,
        """
        CREATE TABLE push (
            sequence INTEGER PRIMARY KEY,
            apns_id TEXT NOT NULL,
            app TEXT NOT NULL,
            topic TEXT NOT NULL,
            environment TEXT NOT NULL,
            team TEXT NOT NULL,
            priority INTEGER NOT NULL,
            collapse_id TEXT,
            call_id TEXT NOT NULL,
            outcome TEXT NOT NULL,
            boot INTEGER NOT NULL,
            received_boot INTEGER NOT NULL,
            received_wall INTEGER NOT NULL,
            journaled INTEGER
        ) STRICT
        """,
        "CREATE UNIQUE INDEX push_identity ON push (lower(apns_id), app, environment, team)",
        """
        CREATE TABLE call (
            number INTEGER PRIMARY KEY,
            app TEXT NOT NULL,
            id TEXT NOT NULL,
            topic TEXT NOT NULL,
            environment TEXT NOT NULL,
            team TEXT NOT NULL,
            apns_id TEXT NOT NULL,
            boot INTEGER NOT NULL,
            received_boot INTEGER NOT NULL,
            received_wall INTEGER NOT NULL,
            is_missed INTEGER NOT NULL,
            state TEXT NOT NULL,
            reason TEXT,
            detail TEXT,
            caller TEXT,
            caller_name TEXT,
            has_video INTEGER,
            attempt INTEGER NOT NULL,
            ring_before INTEGER NOT NULL,
            is_one_attempt INTEGER NOT NULL,
            ring_time INTEGER NOT NULL,
            verified INTEGER,
            journaled INTEGER,
            woke INTEGER,
            reported INTEGER,
            rang INTEGER,
            answered INTEGER,
            connected INTEGER,
            hung_up INTEGER,
            ended INTEGER
        ) STRICT
        """,
        // With the team, so that a vendor that knows another's call ids cannot use them up.
        "CREATE UNIQUE INDEX call_key ON call (id, app, team)",
        "CREATE INDEX call_open ON call (number) WHERE state <> 'ended'",
        "CREATE INDEX call_missed ON call (number) WHERE is_missed = 1",
        // Separate from the push, so that the pages of the pushes stay small and a deleted payload leaves no trace.
        """
        CREATE TABLE payload (
            call INTEGER PRIMARY KEY,
            bytes BLOB NOT NULL
        ) STRICT
        """,
    ]

    private static let statesAndLists = [
        "ALTER TABLE call ADD COLUMN identified_as TEXT",
        "ALTER TABLE call ADD COLUMN restriction TEXT",
        // `reason`: why the row was set aside.
        """
        CREATE TABLE state (
            path TEXT NOT NULL PRIMARY KEY,
            version INTEGER NOT NULL,
            boot INTEGER NOT NULL,
            written_boot INTEGER NOT NULL,
            written_wall INTEGER NOT NULL,
            reason TEXT,
            data BLOB NOT NULL
        ) STRICT
        """,
        // `generation` identifies the list's current entries. Those of an import have another one until it is finished.
        """
        CREATE TABLE list (
            name TEXT NOT NULL PRIMARY KEY,
            kind TEXT NOT NULL,
            source TEXT,
            etag TEXT,
            updated_wall INTEGER NOT NULL,
            entries INTEGER NOT NULL,
            generation INTEGER NOT NULL UNIQUE
        ) STRICT
        """,
        """
        CREATE TABLE list_entry (
            generation INTEGER NOT NULL,
            pattern TEXT NOT NULL,
            label TEXT,
            PRIMARY KEY (generation, pattern)
        ) STRICT, WITHOUT ROWID
        """,
        // Generations without a list: those of unfinished imports, and those whose entries are to be removed.
        "CREATE TABLE list_remains (generation INTEGER PRIMARY KEY) STRICT",
        // A new random stamp for each change of a list. It shows whether an index was built from the current entries.
        "CREATE TABLE list_stamp (id INTEGER PRIMARY KEY CHECK (id = 1), stamp INTEGER NOT NULL) STRICT",
        "INSERT INTO list_stamp (id, stamp) VALUES (1, 0)",
    ]

    private static let callAudio = ["ALTER TABLE call ADD COLUMN audio_active INTEGER"]

    /// One row per call: columns that no query needs become a snapshot, which includes the rows `call/...` of `state`.
    /// There are payloads for all pushes that a handler may lack. Tables with a text key have one tree instead of two.
    private static let oneRecordACall = Step(
        statements: [
            "ALTER TABLE call RENAME TO call_3", "ALTER TABLE payload RENAME TO payload_3",
            "ALTER TABLE state RENAME TO state_3",
            "DROP INDEX call_key", "DROP INDEX call_open", "DROP INDEX call_missed",
            """
            CREATE TABLE call (
                number INTEGER PRIMARY KEY,
                app TEXT NOT NULL,
                id TEXT NOT NULL,
                team TEXT NOT NULL,
                received_wall INTEGER NOT NULL,
                boot INTEGER NOT NULL,
                received_boot INTEGER NOT NULL,
                state TEXT NOT NULL,
                is_missed INTEGER NOT NULL,
                version INTEGER NOT NULL,
                snapshot TEXT NOT NULL
            ) STRICT
            """,
            "CREATE UNIQUE INDEX call_key ON call (id, app, team)",
            "CREATE INDEX call_missed ON call (number) WHERE is_missed = 1",
            """
            CREATE TABLE payload (
                call INTEGER NOT NULL,
                push INTEGER NOT NULL,
                bytes BLOB NOT NULL,
                PRIMARY KEY (call, push)
            ) STRICT, WITHOUT ROWID
            """,
            """
            CREATE TABLE state (
                path TEXT NOT NULL PRIMARY KEY,
                version INTEGER NOT NULL,
                boot INTEGER NOT NULL,
                written_boot INTEGER NOT NULL,
                written_wall INTEGER NOT NULL,
                reason TEXT,
                data BLOB NOT NULL
            ) STRICT, WITHOUT ROWID
            """,
            "INSERT INTO state SELECT * FROM state_3 WHERE path NOT LIKE 'call/%'",
        ],
        convert: { (connection: Connection) throws(SQLiteFailure) in try CallRowsVersion3.convert(connection) },
        after: ["DROP TABLE call_3", "DROP TABLE payload_3", "DROP TABLE state_3"])

    /// Renames columns with APNs' names. A door is one of APNs' environments, a sender is a team.
    private static let provenance = [
        "ALTER TABLE push RENAME COLUMN apns_id TO push_id", "ALTER TABLE push RENAME COLUMN environment TO door",
        "ALTER TABLE push RENAME COLUMN team TO sender", "ALTER TABLE call RENAME COLUMN team TO sender",
    ]

    /// Which store this is, and how often its log was begun; see ``StorePosition``.
    private static let epoch = [
        """
        CREATE TABLE epoch (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            store INTEGER NOT NULL,
            number INTEGER NOT NULL
        ) STRICT
        """,
        "INSERT INTO epoch (id, store, number) VALUES (1, random() & 9223372036854775807, 0)",
    ]

    /// A gateway's devices, and the pushes that wait for them. A row of `mail` is in no other place: it is removed when
    /// its device has it. `facts` is everything that no query needs.
    private static let links = [
        "CREATE TABLE device (id TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, data BLOB NOT NULL) "
            + "STRICT, WITHOUT ROWID",
        """
        CREATE TABLE mail (
            number INTEGER PRIMARY KEY,
            run INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            device TEXT NOT NULL,
            boot INTEGER NOT NULL,
            received_boot INTEGER NOT NULL,
            received_wall INTEGER NOT NULL,
            version INTEGER NOT NULL,
            facts BLOB NOT NULL,
            payload BLOB NOT NULL
        ) STRICT
        """,
        "CREATE UNIQUE INDEX mail_key ON mail (run, sequence)",
    ]
}

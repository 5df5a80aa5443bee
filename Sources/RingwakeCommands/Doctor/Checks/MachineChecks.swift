import ControlProtocol

/// The clock is plausible.
enum ClockCheck {
    private static let name = "clock"
    /// A build machine's clock may differ by this much, in seconds.
    private static let tolerance: Int64 = 24 * 60 * 60

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        if let clock = facts.status?.clock, let why = clock.why {
            return [.problem(name, why, hint: "until then senders get 503")]
        }
        // A device verifies no provider tokens.
        let judgesTokens = facts.role != "device"
        let judged = judgesTokens ? "certificates and tokens" : "certificates"
        if let built = facts.builtAt, facts.now + tolerance < built {
            return [
                .problem(
                    name, "it is before the day when this program was built, so \(judged) look invalid",
                    hint: "set this machine's clock, and let a time service keep it")
            ]
        }
        guard facts.isClockKept else {
            let why = judgesTokens ? "provider tokens are valid for an hour" : "pushes and certificates expire"
            return [
                .note(
                    name, "no time service keeps the clock",
                    hint: "\(why): run chrony, systemd-timesyncd or another")
            ]
        }
        return [.ok(name, "a time service keeps it")]
    }
}

/// The journal works, and has room.
enum StoreCheck {
    private static let name = "store"
    /// A database grows by whole pages and needs as much again for a checkpoint.
    private static let needed: UInt64 = 1 << 20
    /// Enough for some thousand calls.
    private static let comfortable: UInt64 = 64 << 20

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        var findings: [Finding] = []
        if let journal = facts.status?.journal, journal.state != "working" {
            findings.append(
                .problem(
                    name, "pushes cannot be stored: \(journal.why ?? journal.state)", hint: "until then senders get 503"
                ))
        }
        for damage in facts.status?.damage ?? [] {
            let files = damage.files.joined(separator: " ")
            findings.append(
                .warning(
                    name, damage.why,
                    hint:
                        "look into the disk's health and the kernel's log; when you need the files no more: rm \(files)"
                ))
        }
        if let gaveWay = facts.status?.journal.gaveWay {
            findings.append(
                .warning(
                    name, "the disk is full, and the oldest \(gaveWay) pushes and calls were removed for new ones",
                    hint: "free some space"))
        }
        if let damaged = facts.status?.journal.damagedRecords {
            findings.append(
                .warning(
                    name,
                    "\(damaged) protected records are damaged: entries of lists, callers, payloads or state of apps",
                    hint: "the log says of which kind; a backup from before may have them: 'ringwake backup list'"))
        }
        if let state = facts.configuration?.dependencies.first(where: { $0.name == "state_directory" }),
            let problem = state.problem
        {
            findings.append(.problem(name, "\(state.path): \(problem)"))
        }
        if let store = facts.store { findings += space(store) }
        return findings
    }

    private static func space(_ store: StoreLook) -> [Finding] {
        if store.isReadOnly {
            return [
                .problem(
                    name, "\(store.directory) is on a read-only file system",
                    hint: "mount it writable, or set state_directory to another")
            ]
        }
        // The daemon makes the directory when it starts.
        guard let free = store.freeBytes else { return [] }
        let size = free < needed ? "\(free >> 10) KiB" : "\(free >> 20) MiB"
        let text = "\(size) are free in \(store.directory)"
        if free < needed { return [.problem(name, text, hint: "free some space: without it no push is accepted")] }
        if free < comfortable { return [.warning(name, text, hint: "free some space before pushes are refused")] }
        return [.ok(name, text)]
    }
}

/// The system bus, if something needs it.
enum BusCheck {
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let name = "bus"
        let reported = facts.status?.buses["system"]
        let isThere = reported.map { $0.state == "connected" } ?? (facts.systemBusProblem == nil)
        guard !isThere else { return [.ok(name, "the system bus is there")] }
        let why = reported?.why ?? facts.systemBusProblem ?? "unknown"
        let users = (facts.configuration?.handlers ?? []).filter {
            $0.bus == "system" || (["unit", "transient"].contains($0.way) && $0.manager == "system")
        }
        guard users.isEmpty else {
            let apps = users.map(\.app).joined(separator: ", ")
            return [
                .problem(
                    name, "the system bus cannot be used, and the handlers of \(apps) are woken over it: \(why)",
                    hint: "start dbus, and check DBUS_SYSTEM_BUS_ADDRESS of the daemon")
            ]
        }
        return [
            .note(
                name, "the system bus cannot be used: \(why)",
                hint: "calls ring without it; logind cannot keep the machine awake, cellular calls are not watched")
        ]
    }
}

/// Something keeps the machine awake until a call is answered.
enum AwakeCheck {
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let name = "awake"
        if let why = facts.status?.awake.why {
            return [
                .note(
                    name, "the machine is not kept awake for a call: \(why)",
                    hint: "it may fall asleep while a call rings; start logind, or set [awake] in the configuration")
            ]
        }
        guard facts.canStayAwake else {
            return [
                .note(
                    name, "neither logind nor the kernel's wake lock is there",
                    hint: "if this machine suspends by itself, it may do so while a call rings")
            ]
        }
        return [.ok(name, "calls can keep the machine awake")]
    }
}

/// What the kernel lacks.
enum KernelCheck {
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let name = "kernel"
        let missing = facts.facilities.filter { !$0.available }
        guard !missing.isEmpty else { return [.ok(name, "it has everything that the daemon uses")] }
        return missing.map { facility in
            let text = "no \(facility.name)" + (facility.why.map { " (\($0))" } ?? "")
            return .note(name, text, hint: "without it \(facility.loss)")
        }
    }
}

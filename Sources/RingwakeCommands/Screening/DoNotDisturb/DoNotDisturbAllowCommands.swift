import ArgumentParser
import ControlProtocol
import RingwakeCore

/// Apps and callers that ring during do not disturb.
struct DoNotDisturbExceptionOptions: ParsableArguments {
    @Option(name: .customLong("app"), help: .of("id", "An app; may be repeated."), completion: .apps)
    var apps: [AppID] = []

    @Option(
        name: .customLong("caller"),
        help: .of("pattern", "A caller: a number, +49900*, alice@example.org, *@example.org; may be repeated."),
        completion: .allowedCallers)
    var callers: [String] = []

    func validate() throws {
        try require(!apps.isEmpty || !callers.isEmpty, "Give --app or --caller.")
    }

    /// The callers as patterns, in the daemon's form.
    func patterns() throws(RingwakeError) -> [String] {
        var patterns: [String] = []
        for caller in callers {
            patterns.append(try CallerPattern(caller).description)
        }
        return patterns
    }
}

/// `ringwake dnd allow`
struct DoNotDisturbAllowCommand: DoNotDisturbSubcommand {
    static let configuration = CommandConfiguration(
        "allow", "Let an app's or a caller's calls ring despite do not disturb.",
        examples: """
            ringwake dnd allow --caller +4989123456
            ringwake dnd allow --caller '*@family.example' --app com.example.doorbell
            """)

    @OptionGroup var exceptions: DoNotDisturbExceptionOptions
    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let patterns = try exceptions.patterns()
        let current = try current(in: context)
        let join = { (old: [String], new: [String]) in old + new.filter { !old.contains($0) } }
        return try change(in: context) {
            if !exceptions.apps.isEmpty { $0.allowApps = join(current.allowApps, exceptions.apps.map(\.rawValue)) }
            if !patterns.isEmpty { $0.allowCallers = join(current.allowCallers, patterns) }
        }
    }
}

/// `ringwake dnd disallow`
struct DoNotDisturbDisallowCommand: DoNotDisturbSubcommand {
    static let configuration = CommandConfiguration(
        "disallow", "Remove exceptions that 'ringwake dnd allow' added.",
        examples: """
            ringwake dnd disallow --caller +4989123456
            ringwake dnd disallow --app com.example.doorbell
            """)

    @OptionGroup var exceptions: DoNotDisturbExceptionOptions
    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let apps = exceptions.apps.map(\.rawValue)
        let written = try zip(exceptions.callers, exceptions.patterns()).map { [$0, $1] }
        let current = try current(in: context)
        if let unknown = apps.first(where: { !current.allowApps.contains($0) }) {
            throw DoNotDisturbDisallowCommand.notAllowed(unknown)
        }
        var patterns: [String] = []
        for forms in written {
            guard let pattern = try allowed(among: current.allowCallers, forms, in: context) else {
                throw DoNotDisturbDisallowCommand.notAllowed(forms[0])
            }
            patterns.append(pattern)
        }
        let without = { (old: [String], gone: [String]) in old.filter { !gone.contains($0) } }
        return try change(in: context) {
            if !apps.isEmpty { $0.allowApps = without(current.allowApps, apps) }
            if !patterns.isEmpty { $0.allowCallers = without(current.allowCallers, patterns) }
        }
    }

    /// The exception for a caller that was given in these forms; nil if there is none. Only the daemon can normalize
    /// a national number.
    private func allowed(
        among patterns: [String], _ forms: [String], in context: CommandContext
    ) throws(RingwakeError) -> String? {
        if let form = forms.first(where: patterns.contains) { return form }
        guard !forms[0].contains("*") else { return nil }
        let check: CallerCheckMessage = try control.client(in: context).get(
            RequestTarget("lists", "check", query: [("caller", forms[0])]))
        return patterns.contains(check.caller) ? check.caller : nil
    }

    private static func notAllowed(_ what: String) -> RingwakeError {
        RingwakeError(.notFound, "'\(what)' is not an exception; 'ringwake dnd' lists the exceptions")
    }
}

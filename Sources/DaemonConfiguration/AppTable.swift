internal import RingwakeCore

// The keys of an app's file. Missing keys have the value of ringwaked.toml.

extension AppConfiguration {
    private static let asInTheDaemons = "as in `ringwaked.toml`"

    static let table: [Setting<AppConfiguration>] = [
        .init("team", .name, \.team, standard: "the team that may push to it, if there is one"),
        .init(
            "wake", .section(wake) { wake, reader throws(RingwakeError) in try wake.resolve(reader) }, \.wake,
            isRequired: true),
        .init("payload", .section(payload), \.payload),
        .init("calls", .section(AppPolicy.calls), \.policy),
        .init("strikes", .section(StrikeLimit.keys), \.policy.strikes),
        .init("ring", .section([.init("ringtone", .path, \.self, standard: asInTheDaemons)]), \.ringtone),
        .init("restrictions", .section(restrictions), \.self),
        .init("restoration", .section([.init("state", .boolean, \.self)]), \.keepsState),
        .init("reachability", .section(reachability), \.self),
    ]

    private static let reachability: [Setting<AppConfiguration>] = [
        .init("targets", .targets, \.targets), .init("user", .user, \.targetsUser, standard: "the daemon's"),
    ]

    private static let restrictions: [Setting<AppConfiguration>] = [
        .init("level", .number(ScreenedCall.levels), \.level),
        .init("app_calls", .limit, \.limits.app, standard: asInTheDaemons),
        .init("caller_calls", .limit, \.limits.caller, standard: asInTheDaemons),
    ]

    private static let wake: [Setting<WakeSettings>] = [
        .init("exec", .command("handler"), \.exec),
        .init("unit", .name, \.unit),
        .init("dbus", .name, \.dbus),
        .init("socket", .socketPath, \.socket),
        .init("connected", .boolean, \.isConnectedOnly),
        .init("way", .word, \.way, standard: asInTheDaemons),
        .init("manager", .word, \.manager, standard: asInTheDaemons),
        .init("path", .text, \.path, standard: "made from the name"),
        .init("bus", .word, \.bus, standard: "`system` for the system's daemon, else `session`"),
        .init("instances", .word, \.instances),
    ]

    /// The preset comes first, because the pointers override it.
    private static let payload: [Setting<PayloadSettings>] = [
        .init("preset", .word(of: PayloadMapping.presetNames), \.preset),
        .init(PayloadProblem.Fact.call.rawValue, .pointerOrNone, \.mapping.call),
        .init(PayloadProblem.Fact.caller.rawValue, .pointerOrNone, \.mapping.caller),
        .init(PayloadProblem.Fact.callerName.rawValue, .pointerOrNone, \.mapping.callerName),
        .init(PayloadProblem.Fact.video.rawValue, .flag, \.mapping.video),
        .init(PayloadProblem.Fact.cancel.rawValue, .cancel, \.mapping.cancel),
        .init(PayloadProblem.Fact.sentAt.rawValue, .pointerOrNone, \.mapping.sentAt),
        .init(PayloadProblem.Fact.age.rawValue, .pointerOrNone, \.mapping.age),
        .init(PayloadProblem.Fact.ringTime.rawValue, .pointerOrNone, \.mapping.ringTime),
    ]
}

extension ValueType where Value == JSONPointer {
    fileprivate static let pointer = ValueType(name: "pointer") { reader, key, node, _ throws(RingwakeError) in
        let text = try reader.text(key, node)
        guard !text.isEmpty else {
            throw reader.invalid(
                key, "is empty, which means the whole payload; give a pointer such as \"/aps/call-id\"")
        }
        do throws(JSONPointer.Defect) {
            return try JSONPointer(text)
        } catch {
            throw reader.invalid(key, "is not a JSON Pointer such as \"/aps/call-id\": '\(text)' \(error)")
        }
    }
}

extension ValueType where Value == JSONPointer? {
    /// A pointer; an empty string removes the preset's.
    fileprivate static let pointerOrNone = ValueType(name: "pointer") { reader, key, node, _ throws(RingwakeError) in
        if case .string("") = node.value { return nil }
        return try ValueType<JSONPointer>.pointer.parse(reader, key, node, nil)
    }
}

/// A fact that depends on the value at a pointer: the `video` or `cancel` table.
private struct ValuesAtPlace: Equatable, Sendable {
    var at: JSONPointer?
    var yes: [String]?
    var answeredElsewhere: [String]?
    var declinedElsewhere: [String]?

    static let flag: [Setting<ValuesAtPlace>] = [
        .init("at", .pointer, \.at, isRequired: true), .init("is", .someTexts, \.yes),
    ]
    static let cancel: [Setting<ValuesAtPlace>] =
        flag + [
            .init("answered_elsewhere", .someTexts, \.answeredElsewhere),
            .init("declined_elsewhere", .someTexts, \.declinedElsewhere),
        ]

    /// Reasons by payload value; nil if no value is given.
    func reasons(_ reader: TOMLReader) throws(RingwakeError) -> [String: CallEndReason]? {
        let lists: [(key: String, words: [String]?, reason: CallEndReason)] = [
            ("is", yes, .cancelled), ("answered_elsewhere", answeredElsewhere, .answeredElsewhere),
            ("declined_elsewhere", declinedElsewhere, .declinedElsewhere),
        ]
        var reasons: [String: CallEndReason] = [:]
        for list in lists {
            for word in list.words ?? [] where reasons.updateValue(list.reason, forKey: word) != nil {
                throw reader.invalid(list.key, "has '\(word)' a second time; remove one of them")
            }
        }
        return reasons.isEmpty ? nil : reasons
    }
}

extension ValueType {
    /// A fact of a payload: a pointer, or a table with a pointer and values.
    private static func fact<Fact>(
        _ table: [Setting<ValuesAtPlace>],
        _ make: @escaping @Sendable (JSONPointer, ValuesAtPlace, TOMLReader) throws(RingwakeError) -> Fact
    ) -> ValueType where Value == Fact? {
        ValueType(name: "pointer or table") { reader, key, node, _ throws(RingwakeError) in
            var (values, inner) = (ValuesAtPlace(), reader)
            if case .table = node.value {
                inner = try reader.table(key, node)
                try table.read(inner, into: &values)
            } else {
                values.at = try ValueType<JSONPointer?>.pointerOrNone.parse(reader, key, node, nil)
            }
            guard let at = values.at else { return nil }
            return try make(at, values, inner)
        }
    }
}

extension ValueType where Value == PayloadMapping.Flag? {
    fileprivate static let flag = fact(ValuesAtPlace.flag) { at, values, _ in
        PayloadMapping.Flag(at: at, values: values.yes)
    }
}

extension ValueType where Value == PayloadMapping.Cancel? {
    fileprivate static let cancel = fact(ValuesAtPlace.cancel) { at, values, reader throws(RingwakeError) in
        PayloadMapping.Cancel(at: at, values: try values.reasons(reader))
    }
}

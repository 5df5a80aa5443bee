/// What topic names and topic filters may contain (sections 4.7 and 4.8.2).
///
/// A name or filter that breaks a rule is a protocol error, not 0x8F or 0x90: those two are for topics that are
/// well-formed and not accepted (section 3.14.2.1).
enum TopicRules {
    private static let separator = UInt8(ascii: "/")
    private static let singleLevel = UInt8(ascii: "+")
    private static let multiLevel = UInt8(ascii: "#")
    private static let sharePrefix = "$share/"

    static func isShared(_ filter: String) -> Bool {
        filter.utf8.starts(with: sharePrefix.utf8)
    }

    /// Checks that a name has no wildcards ([MQTT-4.7.1-1]).
    static func check(name: String, in type: PacketType) throws(MQTTError) {
        guard !name.utf8.contains(where: { $0 == singleLevel || $0 == multiLevel }) else {
            throw .protocolError("a topic name in \(type.name) contains a wildcard")
        }
    }

    /// Checks that a filter isn't empty and that its wildcards are whole levels, `#` only the last.
    static func check(filter: String, in type: PacketType) throws(MQTTError) {
        guard isShared(filter) else { return try check(levels: filter.utf8[...], in: type) }
        let shared = filter.utf8.dropFirst(sharePrefix.utf8.count)
        let share = shared.prefix { $0 != separator }
        guard !share.isEmpty, !share.contains(where: { $0 == singleLevel || $0 == multiLevel }) else {
            throw .protocolError("a shared subscription in \(type.name) has no valid share name")
        }
        try check(levels: shared[share.endIndex...].dropFirst(), in: type)
    }

    private static func check(levels filter: Substring.UTF8View, in type: PacketType) throws(MQTTError) {
        guard !filter.isEmpty else { throw .protocolError("\(type.name) has an empty topic filter") }
        var previous = separator
        var hasEnded = false
        for byte in filter {
            let isWildcard = byte == singleLevel || byte == multiLevel
            let followsWildcard = previous == singleLevel && byte != separator
            guard !hasEnded, !followsWildcard, !isWildcard || previous == separator else {
                throw .protocolError("a topic filter in \(type.name) has a wildcard that isn't a whole level")
            }
            hasEnded = byte == multiLevel
            previous = byte
        }
    }
}

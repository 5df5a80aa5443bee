internal import RingwakeCore

extension PayloadMapping {
    /// Reads the section `[payload]` of an app's file: a preset, and pointers that come before the preset's.
    nonisolated init(_ table: TOMLReader) throws(RingwakeError) {
        var reader = table
        self = try PayloadMapping.preset(&reader)
        try PayloadMapping.replace(&call, .call, &reader)
        try PayloadMapping.replace(&caller, .caller, &reader)
        try PayloadMapping.replace(&callerName, .callerName, &reader)
        try PayloadMapping.replace(&sentAt, .sentAt, &reader)
        try PayloadMapping.replace(&ringTime, .ringTime, &reader)
        try replaceVideo(&reader)
        try replaceCancel(&reader)
        try reader.refuseUnknownKeys()
    }

    private nonisolated static func preset(_ reader: inout TOMLReader) throws(RingwakeError) -> PayloadMapping {
        guard let name = try reader.string("preset") else { return PayloadMapping() }
        guard let preset = preset(name) else {
            throw reader.invalid("preset", "is not '\(name)'" + TOMLReader.suggestion(for: name, among: presetNames))
        }
        return preset
    }

    /// Takes the pointer under the key of `fact` over; an empty text takes the preset's away.
    private nonisolated static func replace(
        _ pointer: inout JSONPointer?, _ fact: PayloadProblem.Fact, _ reader: inout TOMLReader
    ) throws(RingwakeError) {
        guard let text = try reader.string(fact.rawValue) else { return }
        pointer = text.isEmpty ? nil : try self.pointer(text, fact.rawValue, reader)
    }

    private nonisolated mutating func replaceVideo(_ reader: inout TOMLReader) throws(RingwakeError) {
        let key = PayloadProblem.Fact.video.rawValue
        guard reader.isTable(key) else {
            guard let text = try reader.string(key) else { return }
            video = text.isEmpty ? nil : Flag(at: try PayloadMapping.pointer(text, key, reader))
            return
        }
        guard var table = try reader.table(key) else { return }
        let at = try PayloadMapping.place(&table)
        let values = try PayloadMapping.values("is", &table)
        try table.refuseUnknownKeys()
        video = Flag(at: at, values: values)
    }

    private nonisolated mutating func replaceCancel(_ reader: inout TOMLReader) throws(RingwakeError) {
        let key = PayloadProblem.Fact.cancel.rawValue
        guard reader.isTable(key) else {
            guard let text = try reader.string(key) else { return }
            cancel = text.isEmpty ? nil : Cancel(at: try PayloadMapping.pointer(text, key, reader))
            return
        }
        guard var table = try reader.table(key) else { return }
        let at = try PayloadMapping.place(&table)
        var values: [String: CallEndReason] = [:]
        var isGiven = false
        let lists: [(key: String, reason: CallEndReason)] = [
            ("is", .cancelled), ("answered_elsewhere", .answeredElsewhere),
            ("declined_elsewhere", .declinedElsewhere),
        ]
        for (key, reason) in lists {
            guard let words = try PayloadMapping.values(key, &table) else { continue }
            isGiven = true
            for word in words where values.updateValue(reason, forKey: word) != nil {
                throw table.invalid(key, "has '\(word)', which is there already")
            }
        }
        try table.refuseUnknownKeys()
        cancel = Cancel(at: at, values: isGiven ? values : nil)
    }

    /// The pointer under `at`, which has to be there.
    private nonisolated static func place(_ table: inout TOMLReader) throws(RingwakeError) -> JSONPointer {
        guard let text = try table.string("at") else { throw table.missing("at") }
        return try pointer(text, "at", table)
    }

    private nonisolated static func pointer(
        _ text: String, _ key: String, _ reader: TOMLReader
    ) throws(RingwakeError) -> JSONPointer {
        guard !text.isEmpty else {
            throw reader.invalid(key, "is empty, which is the whole payload; a pointer is such as \"/aps/call-id\"")
        }
        do throws(JSONPointer.Defect) {
            return try JSONPointer(text)
        } catch {
            throw reader.invalid(key, "is no JSON Pointer such as \"/aps/call-id\": '\(text)' \(error)")
        }
    }

    private nonisolated static func values(
        _ key: String, _ table: inout TOMLReader
    ) throws(RingwakeError) -> [String]? {
        guard let values = try table.strings(key) else { return nil }
        guard !values.isEmpty else { throw table.invalid(key, "is empty; leave it out, or name a value") }
        return values
    }
}

/// Who called, as the journal keeps it: one JSON object, in a record of the kind ``ProtectedKind/callers``.
package struct CallerSnapshot: Hashable, Sendable, Decodable {
    /// The names of the members in JSON.
    package static let members = CodingKeys.allCases.map(\.rawValue)

    let caller: String?
    let callerName: String?
    let identifiedAs: String?

    package enum CodingKeys: String, CodingKey, CaseIterable {
        case caller
        case callerName = "caller_name"
        case identifiedAs = "identified_as"
    }

    /// The snapshot of what is known about a caller; nil if that is nothing.
    package static func json(of update: CallUpdate) -> [UInt8]? {
        guard update.caller != nil || update.callerName != nil || update.identifiedAs != nil else { return nil }
        return JSONWriter(capacity: 128) { row in
            row.add(CodingKeys.caller.rawValue, update.caller)
            row.add(CodingKeys.callerName.rawValue, update.callerName)
            row.add(CodingKeys.identifiedAs.rawValue, update.identifiedAs)
        }.bytes
    }
}

internal import ControlProtocol
internal import FoundationEssentials
internal import RingwakeCore

extension IncomingPush {
    /// The object but its payload.
    private struct Head: Decodable {
        let schema: Int
        let kind: String
        let topic: String
        let call: String
        let attempt: Int
        let age: Int64
        let deadline: Int64

        enum CodingKeys: String, CodingKey {
            case schema, kind, topic, call, attempt
            case age = "age_ms"
            case deadline = "deadline_ms"
        }
    }

    /// The object that a handler is given: on its standard input, by D-Bus, or on the socket that it listens to. What the
    /// client's own connection brings, and what ``RingwakeClient/Configuration/fromEnvironment()`` reads, is read already.
    ///
    /// - Throws: `badAnswer`: it is none.
    public init(json: [UInt8]) throws(RingwakeKitError) {
        guard let place = JSONSlice.member("payload", of: json) else {
            throw RingwakeKitError(.badAnswer, "a push without a payload; is it from a ringwaked of this version?")
        }
        let payload = Array(json[place])
        do throws(JSONSyntax.Defect) {
            try JSONSyntax.requireObject(payload)
        } catch {
            throw RingwakeKitError(.badAnswer, "a push whose payload is no JSON object")
        }
        // The decoder at hand is less patient with the numbers of strangers than a payload may be.
        let rest = json[..<place.lowerBound] + Array("{}".utf8) + json[place.upperBound...]
        let head: Head = try JSONText.read(Array(rest), "a push")
        guard head.schema == ControlAPI.schema, let kind = Kind(rawValue: head.kind) else {
            throw RingwakeKitError(
                .badAnswer, "a push of schema \(head.schema) and kind '\(head.kind)', which this version does not know")
        }
        self.init(
            call: head.call, kind: kind, topic: head.topic, attempt: head.attempt,
            age: .milliseconds(max(0, head.age)), reportWithin: .milliseconds(max(0, head.deadline)), payload: payload)
    }

    /// The pushes of a fetch: `{"pushes":[...]}`.
    static func fetched(_ json: [UInt8]) throws(RingwakeKitError) -> [IncomingPush] {
        guard let place = JSONSlice.member("pushes", of: json),
            let elements = JSONSlice.elements(of: Array(json[place]))
        else { throw RingwakeKitError(.badAnswer, "what was fetched is no list of pushes") }
        var pushes: [IncomingPush] = []
        for element in elements {
            let range = (place.lowerBound + element.lowerBound)..<(place.lowerBound + element.upperBound)
            pushes.append(try IncomingPush(json: Array(json[range])))
        }
        return pushes
    }
}

/// JSON as the daemon reads and writes it.
enum JSONText {
    /// - Parameter what: what it should be, for a person.
    /// - Throws: `badAnswer`.
    static func read<Message: Decodable>(_ bytes: [UInt8], _ what: String) throws(RingwakeKitError) -> Message {
        do {
            return try JSONDecoder().decode(Message.self, from: Data(bytes))
        } catch {
            throw RingwakeKitError(.badAnswer, "\(what) that is not as this version of ringwaked writes it: \(error)")
        }
    }

    /// - Throws: `invalidRequest`.
    static func write(_ message: some Encodable) throws(RingwakeKitError) -> [UInt8] {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(message))
        } catch {
            throw RingwakeKitError(.invalidRequest, "this cannot be written as JSON: \(error)")
        }
    }
}

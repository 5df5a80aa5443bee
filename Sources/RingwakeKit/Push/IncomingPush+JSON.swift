internal import ControlProtocol
internal import RingwakeCore

extension IncomingPush {
    /// The push object without its payload.
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

    /// Reads the object that a handler gets on standard input, by D-Bus, or on the socket that it listens on. You
    /// don't need it for pushes that arrive over the client's connection or by
    /// ``RingwakeClient/Configuration/fromEnvironment()``.
    ///
    /// - Throws: `badAnswer`: it is not a push.
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
        // Decode without the payload: the decoder refuses some numbers that a payload may contain.
        let rest = json[..<place.lowerBound] + Array("{}".utf8) + json[place.upperBound...]
        let head: Head = try JSONText.read(Array(rest), "a push")
        guard head.schema == ControlAPI.schema else {
            throw RingwakeKitError(.badAnswer, "a push of schema \(head.schema), which this version does not know")
        }
        self.init(
            call: Call.ID(rawValue: head.call), kind: Kind(rawValue: head.kind), topic: head.topic,
            attempt: head.attempt,
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

/// The input of a handler on its standard input: one JSON object, followed by the end of file. A running handler
/// fetches the same object for each push.
package enum HandlerInput {
    /// The version of the object. A handler may ignore unknown members of a higher version.
    static let schema = 1

    /// The object, with the payload byte for byte.
    /// - Parameter now: the current time. The push's age and the remaining time are sent as durations, so that the
    ///   handler's clock need not agree with the daemon's.
    package static func bytes(of request: WakeRequest, at now: BootInstant) -> [UInt8] {
        let age = max(0, request.receivedAt.duration(to: now).milliseconds)
        let left = max(0, now.duration(to: request.reportBy).milliseconds)
        return JSONWriter(capacity: request.payload.count + 512) { object in
            object.add("schema", schema)
            object.add("kind", request.kind)
            object.add("app", request.app.rawValue)
            object.add("topic", Topic.voip(of: request.app).rawValue)
            object.add("call", request.call.rawValue)
            object.add("attempt", request.attempt)
            object.add("age_ms", age)
            object.add("deadline_ms", left)
            object.add("payload", json: request.payload)
        }.bytes
    }
}

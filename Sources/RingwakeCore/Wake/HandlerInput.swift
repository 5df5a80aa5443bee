/// What a handler reads on its standard input: one JSON object, and then the end. The same object stands for each push
/// that a running handler fetches.
package enum HandlerInput {
    /// The version of the object. A handler that finds a higher one may ignore what it does not know.
    static let schema = 1

    /// The object, with the payload as the very bytes of the push.
    /// - Parameter now: The present. The push's age and the time left are told as numbers, so that a handler needs
    ///   no clock that agrees with the daemon's.
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

package import RingwakeCore

/// A push for a handler that keeps a stream open: the event `wake`, with the object of standard input.
package enum DeliveryMessage {
    package static func line(_ request: WakeRequest, at now: BootInstant) -> [UInt8] {
        JSONWriter(capacity: request.payload.count + 1024) { line in
            line.add("app", request.app.rawValue)
            line.add("event", "wake")
            line.add("push", json: HandlerInput.bytes(of: request, at: now))
            line.add("schema", ControlAPI.schema)
        }.line
    }
}

/// The pushes that a handler fetches: `{"pushes":[...],"schema":1}`, each as on standard input.
package enum WaitingMessage {
    /// The message. The payloads are the original bytes of the pushes.
    package static func json(_ requests: [WakeRequest], at now: BootInstant) -> [UInt8] {
        JSONWriter { message in
            message.add("pushes", array: requests) { $1.append(json: HandlerInput.bytes(of: $0, at: now)) }
            message.add("schema", ControlAPI.schema)
        }.bytes
    }
}

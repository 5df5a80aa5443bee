package import RingwakeCore

/// What a handler that keeps a connection is delivered: the event `wake` with the object of standard input.
package enum DeliveryMessage {
    package static func line(_ request: WakeRequest, at now: BootInstant) -> [UInt8] {
        JSONWriter(capacity: request.payload.count + 1024) { line in
            line.add("app", request.app.rawValue)
            line.add("event", "wake")
            line.add("push", json: HandlerInput.bytes(of: request, at: now))
            line.add("schema", ControlAPI.schema)
        }.bytes + [UInt8(ascii: "\n")]
    }
}

/// What a handler fetches: `{"pushes":[...],"schema":1}`, each push as on standard input.
package enum WaitingMessage {
    /// The message; the payloads in it are the very bytes of the pushes.
    package static func json(_ requests: [WakeRequest], at now: BootInstant) -> [UInt8] {
        JSONWriter { message in
            message.add("pushes", array: requests) { $1.append(json: HandlerInput.bytes(of: $0, at: now)) }
            message.add("schema", ControlAPI.schema)
        }.bytes
    }
}

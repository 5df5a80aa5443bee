package import RingwakeCore

/// A push for a handler that keeps a stream open: the event `wake`, with the object of standard input.
package enum DeliveryMessage {
    package static func line(_ request: WakeRequest, at now: BootInstant) -> [UInt8] {
        // Bundle IDs need no escaping. ``HandlerInput`` encodes the push.
        Array(#"{"app":"\#(request.app)","event":"wake","push":"#.utf8) + HandlerInput.bytes(of: request, at: now)
            + Array(#","schema":\#(ControlAPI.schema)}"#.utf8) + [UInt8(ascii: "\n")]
    }
}

/// The pushes that a handler fetches: `{"pushes":[...],"schema":1}`, each as on standard input.
package enum WaitingMessage {
    /// The message. The payloads are the original bytes of the pushes.
    package static func json(_ requests: [WakeRequest], at now: BootInstant) -> [UInt8] {
        var bytes = Array(#"{"pushes":["#.utf8)
        for (index, request) in requests.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += HandlerInput.bytes(of: request, at: now)
        }
        return bytes + #"],"schema":\#(ControlAPI.schema)}"#.utf8
    }
}

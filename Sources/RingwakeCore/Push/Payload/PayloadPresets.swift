extension PayloadMapping {
    /// The names of the presets in an app's configuration file.
    package static let presetNames = ["flexisip", "ringwake", "sygnal", "twilio"]

    /// The mapping for a well-known sender; nil unless the name is in ``presetNames``.
    package static func preset(_ name: String) -> PayloadMapping? {
        switch name {
        case "flexisip": flexisip
        case "ringwake": ringwake
        case "sygnal": sygnal
        case "twilio": twilio
        default: nil
        }
    }

    /// Flexisip's VoIP push. It has no cancel push and no video flag.
    ///
    /// `pn_ttl` is its `call-fork-timeout` in seconds, the time that the caller waits; `send-time` is UTC. `aps.uuid`
    /// names the device, not the call, so it is not the call id. If its `display-from-uri` is off, the caller is an
    /// empty text, so it is unknown.
    ///
    /// See `AppleRequest` in
    /// [flexisip](https://github.com/BelledonneCommunications/flexisip), src/pushnotification/apple/apple-request.cc
    /// at eb79b9c, and `Request::getPushTimeStamp` in src/pushnotification/request.cc.
    private static var flexisip: PayloadMapping {
        var mapping = PayloadMapping()
        mapping.call = JSONPointer(through: "aps", "call-id")
        mapping.caller = JSONPointer(through: "from-uri")
        mapping.callerName = JSONPointer(through: "display-name")
        mapping.sentAt = JSONPointer(through: "aps", "send-time")
        mapping.ringTime = JSONPointer(through: "pn_ttl")
        return mapping
    }

    /// Ringwake's own: an object `ringwake` with a member for each fact, besides any other members of the payload.
    private static var ringwake: PayloadMapping {
        var mapping = PayloadMapping()
        mapping.call = JSONPointer(through: "ringwake", "call")
        mapping.caller = JSONPointer(through: "ringwake", "caller")
        mapping.callerName = JSONPointer(through: "ringwake", "callerName")
        mapping.video = Flag(at: JSONPointer(through: "ringwake", "video"))
        mapping.cancel = Cancel(at: JSONPointer(through: "ringwake", "cancel"))
        mapping.sentAt = JSONPointer(through: "ringwake", "sentAt")
        mapping.age = JSONPointer(through: "ringwake", "age")
        mapping.ringTime = JSONPointer(through: "ringwake", "ringTime")
        return mapping
    }

    /// Sygnal's push for a Matrix `m.call.invite`: the invite's event id is the call id, because sygnal forwards
    /// neither the event's `call_id` nor its sender, only the sender's display name as an argument of the alert.
    ///
    /// It has no cancel push: a hangup is a separate event, and nothing links its id to that of the invite. A pusher of
    /// the format `event_id_only` sends only the event id and the room.
    ///
    /// See `_get_payload_full` in [sygnal](https://github.com/element-hq/sygnal), sygnal/apnspushkin.py at 54826e8.
    private static var sygnal: PayloadMapping {
        var mapping = PayloadMapping()
        mapping.call = JSONPointer(through: "event_id")
        mapping.callerName = JSONPointer(through: "aps", "alert", "loc-args", "0")
        mapping.video = Flag(at: JSONPointer(through: "aps", "alert", "loc-key"), values: ["VIDEO_CALL_FROM_USER"])
        return mapping
    }

    /// Twilio Voice's push, and its client call notification webhook, which sends the same object.
    ///
    /// Its SDKs of 2019 and later don't register for cancel pushes. Devices that older SDKs registered get them,
    /// including the device that answered.
    ///
    /// See "Client Call Notification Webhook" in
    /// [Twilio's documentation](https://www.twilio.com/docs/voice/sdks) and, for the cancel push,
    /// [voice-quickstart-ios#263](https://github.com/twilio/voice-quickstart-ios/issues/263).
    private static var twilio: PayloadMapping {
        var mapping = PayloadMapping()
        mapping.call = JSONPointer(through: "twi_call_sid")
        mapping.caller = JSONPointer(through: "twi_from")
        mapping.cancel = Cancel(
            at: JSONPointer(through: "twi_message_type"), values: ["twilio.voice.cancel": .cancelled])
        return mapping
    }
}

import MQTT5

/// Packets of each kind, with nothing optional and with everything.
enum Samples {
    static let userProperties = [
        MQTTUserProperty("name", "value"), MQTTUserProperty("name", "again"), MQTTUserProperty("", ""),
    ]

    static let all: [MQTTPacket] = [
        .connect(MQTTConnect(clientID: "")), .connect(connect),
        .connack(MQTTConnack(.success)), .connack(MQTTConnack(.notAuthorized)), .connack(connack),
        .publish(MQTTPublish(topic: "ring/phone", packetID: 1, payload: [])), .publish(publish), .publish(qos0),
        .puback(MQTTPuback(packetID: 1)), .puback(MQTTPuback(packetID: 65_535, reason: .quotaExceeded)),
        .puback(puback), .puback(successWithProperties),
        .subscribe(MQTTSubscribe(packetID: 10, filters: [MQTTSubscribe.Filter("#")])), .subscribe(subscribe),
        .suback(MQTTSuback(packetID: 10, reasons: [.grantedQoS1])), .suback(suback),
        .unsubscribe(MQTTUnsubscribe(packetID: 3, filters: ["a/b"])), .unsubscribe(unsubscribe),
        .unsuback(MQTTUnsuback(packetID: 3, reasons: [.success])), .unsuback(unsuback),
        .pingreq, .pingresp,
        .disconnect(MQTTDisconnect()), .disconnect(MQTTDisconnect(.keepAliveTimeout)), .disconnect(disconnect),
        .disconnect(normalWithProperties),
    ]

    static let connect: MQTTConnect = {
        var packet = MQTTConnect(clientID: "phone-\u{1F4DE}")
        packet.cleanStart = false
        packet.keepAlive = 1200
        packet.hasWill = true
        packet.userName = "user"
        packet.password = [0, 0xFF, 0x80]
        packet.sessionExpiryInterval = .max
        packet.receiveMaximum = 1
        packet.maximumPacketSize = 4096
        packet.topicAliasMaximum = 0
        packet.requestsResponseInformation = true
        packet.requestsProblemInformation = false
        packet.authenticationMethod = "token"
        packet.authenticationData = []
        packet.userProperties = userProperties
        return packet
    }()

    static let connack: MQTTConnack = {
        var packet = MQTTConnack(.success)
        packet.sessionPresent = true
        packet.sessionExpiryInterval = 86_400
        packet.receiveMaximum = 20
        packet.maximumQoS = 1
        packet.retainAvailable = false
        packet.maximumPacketSize = 1
        packet.assignedClientID = "given"
        packet.topicAliasMaximum = 65_535
        packet.reasonString = "ok"
        packet.wildcardSubscriptionAvailable = false
        packet.subscriptionIdentifiersAvailable = true
        packet.sharedSubscriptionAvailable = false
        packet.serverKeepAlive = 0
        packet.responseInformation = "answers/"
        packet.serverReference = "other.example:8883"
        packet.authenticationMethod = "token"
        packet.authenticationData = [1]
        packet.userProperties = userProperties
        return packet
    }()

    static let publish: MQTTPublish = {
        var packet = MQTTPublish(topic: "", packetID: 65_535, payload: Array(repeating: 0xAB, count: 300))
        packet.qos = 2
        packet.isDuplicate = true
        packet.isRetained = true
        packet.isUTF8 = true
        packet.messageExpiryInterval = 30
        packet.topicAlias = 7
        packet.responseTopic = "answers/1"
        packet.correlationData = [9, 8]
        packet.subscriptionIdentifiers = [1, 127, 128, 268_435_455, 1]
        packet.contentType = "application/json"
        packet.userProperties = userProperties
        return packet
    }()

    static let qos0: MQTTPublish = {
        var packet = MQTTPublish(topic: "a/b", packetID: nil, payload: Array("hello".utf8))
        packet.qos = 0
        packet.isUTF8 = false
        return packet
    }()

    static let puback: MQTTPuback = {
        var packet = MQTTPuback(packetID: 2, reason: .notAuthorized, reasonString: "not yours")
        packet.userProperties = userProperties
        return packet
    }()

    static let successWithProperties = MQTTPuback(packetID: 2, reasonString: "delivered")

    static let subscribe: MQTTSubscribe = {
        var second = MQTTSubscribe.Filter("a/+/c/#", maximumQoS: 2)
        second.noLocal = true
        second.retainAsPublished = true
        second.retainHandling = 2
        var packet = MQTTSubscribe(
            packetID: 256, filters: [MQTTSubscribe.Filter("$share/group/+", maximumQoS: 0), second])
        packet.subscriptionIdentifier = 268_435_455
        packet.userProperties = userProperties
        return packet
    }()

    static let suback: MQTTSuback = {
        var packet = MQTTSuback(
            packetID: 256, reasons: [.success, .notAuthorized, MQTTReason(rawValue: 0xEE)], reasonString: "partly")
        packet.userProperties = userProperties
        return packet
    }()

    static let unsubscribe: MQTTUnsubscribe = {
        var packet = MQTTUnsubscribe(packetID: 4, filters: ["/", "+/+", "$share/g//"])
        packet.userProperties = userProperties
        return packet
    }()

    static let unsuback: MQTTUnsuback = {
        var packet = MQTTUnsuback(packetID: 4, reasons: [.success, .noSubscriptionExisted])
        packet.reasonString = "there was none"
        packet.userProperties = userProperties
        return packet
    }()

    static let disconnect: MQTTDisconnect = {
        var packet = MQTTDisconnect(.useAnotherServer, reasonString: "moved")
        packet.sessionExpiryInterval = 0
        packet.serverReference = "other.example"
        packet.userProperties = userProperties
        return packet
    }()

    static let normalWithProperties: MQTTDisconnect = {
        var packet = MQTTDisconnect()
        packet.sessionExpiryInterval = 60
        return packet
    }()
}

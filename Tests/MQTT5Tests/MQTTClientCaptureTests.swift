import MQTT5
import Testing

/// What clients send with MQTT 5, captured on the loopback interface: mosquitto_sub and mosquitto_pub 2.0.11, and
/// paho-mqtt 1.6.1.
@Suite struct MQTTClientCaptureTests {
    @Test("mosquitto_sub with a user name, properties and a subscription identifier")
    func mosquittoSub() throws {
        let bytes = wire(
            "103800044d51545405c0003c1621001426000361707000066469616c657211ffffffff000770686f6e652d310004757365720006736563"
                + "726574 82140001020b07000c72696e672f2b2f63616c6c7301 e00104")
        var connect = MQTTConnect(clientID: "phone-1")
        connect.cleanStart = false
        connect.keepAlive = 60
        connect.receiveMaximum = 20
        connect.userProperties = [MQTTUserProperty("app", "dialer")]
        connect.sessionExpiryInterval = .max
        connect.userName = "user"
        connect.password = Array("secret".utf8)
        var subscribe = MQTTSubscribe(packetID: 1, filters: [MQTTSubscribe.Filter("ring/+/calls")])
        subscribe.subscriptionIdentifier = 7
        let run = DecoderRun(bytes)
        #expect(run.error == nil)
        // 0x04: Disconnect with Will Message.
        #expect(
            run.packets == [
                .connect(connect), .subscribe(subscribe), .disconnect(MQTTDisconnect(MQTTReason(rawValue: 4))),
            ])
    }

    @Test("mosquitto_sub with nothing but a topic")
    func mosquittoSubPlain() {
        var connect = MQTTConnect(clientID: "")
        connect.keepAlive = 60
        connect.receiveMaximum = 20
        let run = DecoderRun(wire("101000044d5154540502003c032100140000 82090001000003612f6200"))
        #expect(run.error == nil)
        #expect(
            run.packets == [
                .connect(connect),
                .subscribe(MQTTSubscribe(packetID: 1, filters: [MQTTSubscribe.Filter("a/b", maximumQoS: 0)])),
            ])
    }

    @Test("mosquitto_pub with a will")
    func mosquittoPub() {
        var connect = MQTTConnect(clientID: "p")
        connect.keepAlive = 60
        connect.receiveMaximum = 20
        connect.hasWill = true
        var publish = MQTTPublish(topic: "a/b", packetID: 1, payload: Array("hello".utf8))
        publish.messageExpiryInterval = 30
        publish.contentType = "text/plain"
        let run = DecoderRun(
            wire(
                "102200044d5154540506003c032100140001700518000000050004676f6e650003627965"
                    + "321f0003612f62000112020000001e03000a746578742f706c61696e68656c6c6f e000"))
        #expect(run.error == nil)
        #expect(run.packets == [.connect(connect), .publish(publish), .disconnect(MQTTDisconnect())])
    }

    @Test("mosquitto_sub with MQTT 3.1.1 is refused with 0x84")
    func oldVersion() {
        let run = DecoderRun(wire("100f00044d51545404020 03c00036f6c64"))
        #expect(run.packets == [])
        #expect(run.error?.reason == .unsupportedProtocolVersion)
    }

    @Test("paho with properties in every packet")
    func paho() {
        var connect = MQTTConnect(clientID: "paho-1")
        connect.cleanStart = false
        connect.keepAlive = 30
        connect.hasWill = true
        connect.userName = "u"
        connect.password = Array("p".utf8)
        connect.sessionExpiryInterval = 60
        connect.receiveMaximum = 5
        connect.maximumPacketSize = 65_536
        connect.topicAliasMaximum = 3
        connect.requestsProblemInformation = false
        connect.userProperties = [MQTTUserProperty("a", "1")]
        var first = MQTTSubscribe.Filter("ring/#")
        first.noLocal = true
        var second = MQTTSubscribe.Filter("s/+/t", maximumQoS: 2)
        second.retainAsPublished = true
        second.retainHandling = 2
        var subscribe = MQTTSubscribe(packetID: 1, filters: [first, second])
        subscribe.subscriptionIdentifier = 200
        subscribe.userProperties = [MQTTUserProperty("x", "y")]
        var publish = MQTTPublish(topic: "ring/x", packetID: 2, payload: Array("hi".utf8))
        publish.isUTF8 = true
        publish.responseTopic = "r/1"
        publish.correlationData = [1, 2]
        publish.topicAlias = 2
        publish.userProperties = [MQTTUserProperty("k", "v"), MQTTUserProperty("k", "w")]
        var disconnect = MQTTDisconnect(MQTTReason(rawValue: 4))
        disconnect.sessionExpiryInterval = 0
        let run = DecoderRun(
            wire(
                "104f00044d51545405ec001e19110000003c1700210005220003260001610001312700010000000670"
                    + "61686f2d3105180000000a000c73746174652f7061686f2d3100076f66666c696e65000175000170"
                    + "821e00010a0bc80126000178000179000672696e672f23050005732f2b2f742a"
                    + "322b000672696e672f7800021e0101080003722f3109000201022300022600016b0001762600016b0001776869"
                    + "a20b000300000672696e672f23 e00704051100000000"))
        #expect(run.error == nil)
        #expect(
            run.packets == [
                .connect(connect), .subscribe(subscribe), .publish(publish),
                .unsubscribe(MQTTUnsubscribe(packetID: 3, filters: ["ring/#"])), .disconnect(disconnect),
            ])
    }
}

import DeviceLink
import MQTT5
import RingwakeCore
import Testing

@Suite struct LinkRouteTests {
    private let own = ServerReference(host: "own.example", port: 8883)
    private let other = ServerReference(host: "other.example", port: 443)

    private func end(_ reason: MQTTReason, _ reference: String?, isRefusal: Bool = false) -> LinkEnd {
        LinkEnd(isRefusal ? .refused(reason) : .disconnected(reason), nil, serverReference: reference)
    }

    private func moved(_ reference: String = "other.example:443", isForGood: Bool = true) -> LinkEnd {
        end(isForGood ? .serverMoved : .useAnotherServer, reference)
    }

    // Macros can't change a value.
    private func settle(_ route: inout LinkRoute) -> Bool { route.settled() }
    private func leaves(_ route: inout LinkRoute, _ end: LinkEnd, mayMove: Bool = true) -> Bool {
        route.ended(end, mayMove: mayMove)
    }

    private let broken = LinkEnd(.broken, "Connection refused")

    @Test("A reference is followed, in CONNACK and in DISCONNECT", arguments: [true, false], [true, false])
    func follow(isRefusal: Bool, isForGood: Bool) {
        var route = LinkRoute(own: own)
        let reason: MQTTReason = isForGood ? .serverMoved : .useAnotherServer
        let changed = route.ended(end(reason, "other.example:443", isRefusal: isRefusal), mayMove: true)
        #expect(changed && route.target == other && route.visit?.isForGood == isForGood)
    }

    @Test("A gateway that takes the device for good is its own from then on; one that it visits is not")
    func settled() {
        var route = LinkRoute(own: own)
        _ = route.ended(moved(), mayMove: true)
        route.linked()
        #expect(settle(&route) && route.own == other && route.visit == nil)
        #expect(!settle(&route))
        _ = route.ended(moved("third.example", isForGood: false), mayMove: true)
        route.linked()
        #expect(!settle(&route) && route.own == other)
        #expect(leaves(&route, broken) && route.target == other && route.failure == nil)
    }

    @Test("A gateway without a link leads home after its time, and no other one does")
    func givenUp() {
        var route = LinkRoute(own: own)
        _ = route.ended(moved(), mayMove: true)
        let gaveUp = [route.giveUp(own), route.giveUp(other)]
        #expect(gaveUp == [false, true] && route.target == own && route.failure?.gateway == "other.example:443")
        _ = route.ended(moved(), mayMove: true)
        route.linked()
        let gaveUpLink = route.giveUp(other)
        #expect(!gaveUpLink && route.target == other)
    }

    @Test("A gateway that can't be used leads home, with the reason")
    func failed() {
        var route = LinkRoute(own: own)
        _ = route.ended(moved(), mayMove: true)
        #expect(leaves(&route, broken) && route.target == own)
        #expect(route.failure?.gateway == "other.example:443" && route.failure?.why == "Connection refused")
        // A person sees why, although the device is linked at home.
        route.linked()
        #expect(route.failure != nil)
        _ = route.ended(moved(), mayMove: true)
        route.linked()
        #expect(route.failure == nil)
    }

    @Test("While a former gateway is to be left, no other becomes the own one")
    func twoMoves() {
        var route = LinkRoute(own: own)
        #expect(leaves(&route, moved(), mayMove: false) && route.visit?.isForGood == false)
    }

    @Test("A gateway that is only visited can't give the device away for good")
    func visitedGatewayMoves() {
        var route = LinkRoute(own: own)
        _ = route.ended(moved(isForGood: false), mayMove: true)
        #expect(leaves(&route, moved("third.example")) && route.visit?.isForGood == false)
        route.linked()
        #expect(!settle(&route) && route.own == own)
    }

    @Test("Gateways that refer to each other are left after three steps")
    func loop() {
        var route = LinkRoute(own: own)
        for name in ["b.example", "c.example", "d.example"] {
            #expect(leaves(&route, moved(name, isForGood: false)))
        }
        #expect(leaves(&route, moved("e.example", isForGood: false)) && route.target == own)
        #expect(route.failure?.why == "gateways refer to each other")
    }

    @Test(
        "A reference to where the device is, or to nothing, changes nothing", arguments: ["own.example", "no/host", ""])
    func useless(reference: String) {
        var route = LinkRoute(own: own)
        #expect(!leaves(&route, moved(reference)) && route.target == own)
        #expect(!leaves(&route, end(.serverMoved, nil)) && route.target == own)
    }

    @Test("Ends without a reference change nothing at home")
    func ordinaryEnds() {
        var route = LinkRoute(own: own)
        #expect(!leaves(&route, broken) && route.failure == nil)
        #expect(!leaves(&route, end(.serverShuttingDown, "other.example")) && route.target == own)
    }
}

import DeviceLink
import RingwakeCore
import Testing

@Suite("A plan that brings registrations together")
struct ClientResetTests {
    let device = DeviceID.test(1)

    private func registration(_ number: Int, app: String = "com.example.phone") throws -> LinkRegistration {
        LinkRegistration(
            slot: LinkSlot(rawValue: UInt32(number)), app: try #require(AppID(app)), topics: [Topic("\(app).voip")],
            environment: .production, token: device.testToken(number))
    }

    private func plan(
        _ mode: LinkResetMode, local: [LinkRegistration], gateway: [LinkRegistration], ended: [String] = [],
        apps: [String] = ["com.example.phone"]
    ) throws -> LinkResetPlan {
        LinkResetPlan(
            local: LinkRegistrations(revision: 3, registrations: local),
            gateway: GatewayRegistrations(revision: 9, registrations: gateway, ended: ended),
            apps: Set(apps.compactMap { AppID($0) }), mode: mode)
    }

    @Test("What both sides have stays, and nothing is done", arguments: [LinkResetMode.recover, .discard])
    func agreed(_ mode: LinkResetMode) throws {
        let both = [try registration(1), try registration(2)]
        let plan = try plan(mode, local: both, gateway: both)
        #expect(plan.adopted.isEmpty && plan.expired.isEmpty)
        #expect(plan.above == 9)
    }

    @Test("What is only on the device stays to recover, and expires to discard")
    func onlyHere() throws {
        let local = try registration(1)
        #expect(try plan(.recover, local: [local], gateway: []).expired.isEmpty)
        #expect(try plan(.discard, local: [local], gateway: []).expired == [local.token])
    }

    @Test(
        "What only the gateway has is taken if its app is here, whatever the mode",
        arguments: [LinkResetMode.recover, .recoverOrDiscard, .discard])
    func onlyThere(_ mode: LinkResetMode) throws {
        let known = try registration(1)
        let other = try registration(2, app: "com.example.gone")
        #expect(try plan(mode, local: [], gateway: [known, other]).adopted == [known])
    }

    @Test("A token that has ended at the gateway expires here, whatever the mode")
    func ended() throws {
        let local = try registration(1)
        #expect(try plan(.recover, local: [local], gateway: [], ended: [local.token]).expired == [local.token])
    }

    @Test("A slot of the device names its own registration: the gateway's with the same slot is not taken")
    func sameSlot() throws {
        let local = try registration(1)
        let other = LinkRegistration(
            slot: local.slot, app: local.app, topics: local.topics, environment: .production,
            token: device.testToken(7))
        #expect(try plan(.recover, local: [local], gateway: [other]).adopted.isEmpty)
    }

    @Test("The result is above both revisions")
    func revision() throws {
        let higher = LinkResetPlan(
            local: LinkRegistrations(revision: 12, registrations: []),
            gateway: GatewayRegistrations(revision: nil, registrations: [], ended: []), apps: [], mode: .recover)
        #expect(higher.above == 12)
    }
}

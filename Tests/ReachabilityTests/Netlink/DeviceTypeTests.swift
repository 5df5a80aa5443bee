import Testing

@testable import Reachability

@Suite("Kinds of devices")
struct DeviceTypeTests {
    private func type(_ event: String, index: UInt32) -> String {
        KernelQueries.deviceType(inEvent: Array(event.utf8), index: index)
    }

    @Test("are what the driver says")
    func driver() {
        #expect(type("DEVTYPE=wlan\nINTERFACE=wlan0\nIFINDEX=3\n", index: 3) == "wlan")
        #expect(type("INTERFACE=eth0\nIFINDEX=2\n", index: 2).isEmpty)
    }

    @Test(
        "are not believed of another link of that name",
        arguments: ["DEVTYPE=wlan\nIFINDEX=4\n", "DEVTYPE=wlan\n", "DEVTYPE=wlan\nIFINDEX=x\n", "", "\n\n", "\u{fffd}"])
    func foreign(_ event: String) {
        #expect(type(event, index: 3).isEmpty)
    }

    @Test("of names that are paths are not looked for", arguments: ["..", ".", "../../../../etc", "lo/../lo", "\0"])
    func paths(_ name: String) throws {
        let link = LinkFacts(index: 1, name: name, hardwareType: 1, flags: 0, operationalState: 0)
        #expect(try KernelQueries().deviceType(of: link).isEmpty)
    }
}

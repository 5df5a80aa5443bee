import Testing

/// Random histories of a gateway with three devices. Each seed is a history that can be run again.
@Suite struct GatewayModelTests {
    @Test("Whatever fails, no accepted push is lost, doubled or out of order", arguments: 0..<40)
    func anything(seed: UInt64) throws {
        var network = SimulatedLinkNetwork(seed: seed)
        for _ in 0..<3_000 { try network.step() }
        try network.settle()
        network.checkEnd()
        #expect(network.summary.sent > 100)
    }

    @Test("With a gateway that crashes all the time nothing that it accepted is lost", arguments: 100..<110)
    func crashes(seed: UInt64) throws {
        var weather = SimulatedLinkNetwork.Weather()
        weather.crashesOfGateway = 0.02
        var network = SimulatedLinkNetwork(seed: seed, weather: weather)
        for _ in 0..<3_000 { try network.step() }
        try network.settle()
        network.checkEnd()
        #expect(network.crashCount > 20)
    }

    @Test("With devices that answer at once every push is delivered, and nothing is ever written")
    func promptDevices() throws {
        var network = SimulatedLinkNetwork(seed: 1, weather: .fine)
        try network.settle()
        for _ in 0..<500 { try network.sendAndAnswer() }
        network.checkEnd()
        #expect(network.summary == (500, 500, 0))
    }
}

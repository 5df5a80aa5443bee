import RingwakeCore
import Testing

@testable import DeviceLink

@Suite("What a device has shown of its networks") struct DeviceKeepalivesTests {
    let start = BootInstant(nanoseconds: 0)
    let network = NetworkKey([1, 2, 3])

    private func device(_ number: Int) throws -> DeviceID {
        let digits = Array("abcdefghijklmnop")
        let name = String([digits[number / 256 % 16], digits[number / 16 % 16], digits[number % 16]])
        return try #require(DeviceID(name + String(repeating: "a", count: 49)))
    }

    private func after(_ seconds: Int64) -> BootInstant { start.advanced(by: .seconds(seconds)) }

    @Test("A dead link halves what is trusted; a day later, without another one, it counts as an accident")
    func accident() throws {
        var table = DeviceKeepalives()
        let device = try device(1)
        table.linkDied(device, on: network, afterIdle: .seconds(500), interval: .seconds(240), at: start)
        #expect(table[device, network].trusted == .seconds(100))
        table.linked(device, on: network, at: after(24 * 3600 - 1))
        #expect(table[device, network].trusted == .seconds(100))
        table.linked(device, on: network, at: after(24 * 3600))
        #expect(table[device, network].trusted == .seconds(240))
    }

    @Test("A second dead link is no accident")
    func second() throws {
        var table = DeviceKeepalives()
        let device = try device(1)
        table.linkDied(device, on: network, afterIdle: .seconds(240), interval: .seconds(240), at: start)
        table.linkDied(device, on: network, afterIdle: .seconds(100), interval: .seconds(100), at: after(1000))
        #expect(table[device, network].trusted == .seconds(45))
        #expect(table[device, network].limit == .seconds(240))
        table.linked(device, on: network, at: after(7 * 24 * 3600))
        #expect(table[device, network].trusted == .seconds(45))
    }

    @Test("A link that died sooner than the shortest interval, or later than what is trusted, has another cause")
    func otherCauses() throws {
        var table = DeviceKeepalives()
        let device = try device(1)
        for idle in [Int64(10), 300] {
            table.linkDied(device, on: network, afterIdle: .seconds(idle), interval: .seconds(900), at: start)
        }
        #expect(table.count == 0)
    }

    @Test("A device adds only a few networks at once, and the table stays within its size")
    func bounds() throws {
        var table = DeviceKeepalives(capacity: 20)
        for number in UInt8(0)..<100 {
            table.probeSurvived(try device(0), on: NetworkKey([number]), .seconds(900), at: start)
        }
        #expect(table.count == 8)
        for number in 1...100 {
            table.probeSurvived(try device(number), on: network, .seconds(900), at: after(Int64(number)))
        }
        #expect(table.count == 20)
        #expect(table[try device(100), network].trusted == .seconds(900), "the oldest go")
        #expect(table[try device(0), NetworkKey([0])].trusted == .seconds(240))
    }

    @Test("What is stored comes back, a week after its last use it does not")
    func stored() throws {
        var table = DeviceKeepalives()
        table.probeSurvived(try device(1), on: network, .seconds(600), at: start)
        table.probeDied(try device(1), on: network, .seconds(900), at: start)
        table.linkDied(try device(2), on: network, afterIdle: .seconds(240), interval: .seconds(240), at: after(10))
        let week = Duration.seconds(7 * 24 * 3600)
        let entries = table.entries(at: after(10))
        #expect(entries.count == 2)
        let restored = DeviceKeepalives(entries, elapsed: .seconds(5), at: after(15))
        for number in 1...2 { #expect(restored[try device(number), network] == table[try device(number), network]) }
        let late = DeviceKeepalives(entries, elapsed: week - .seconds(5), at: after(10))
        #expect(late.count == 1, "the other one was used 10 s before")
        #expect(table.entries(at: after(10).advanced(by: week)).isEmpty)
    }

    @Test("Stored entries that make no sense are left out or brought within the bounds")
    func damaged() throws {
        func entry(
            network: String = "0a0b", trusted: Int64 = 600, failed: Int64? = nil, failedAge: Int64? = nil,
            age: Int64 = 0
        ) throws -> DeviceKeepalives.Entry {
            DeviceKeepalives.Entry(
                device: try device(1), network: network, trusted: trusted, failed: failed, failedAge: failedAge,
                age: age)
        }
        for wrong in [
            try entry(network: "xy"), try entry(age: .max), try entry(network: String(repeating: "0", count: 200)),
        ] {
            #expect(DeviceKeepalives([wrong], elapsed: .zero, at: start).count == 0)
        }
        let network = NetworkKey([10, 11])
        for (stored, read) in [(Int64.max, Int64(28 * 60)), (.min, 45)] {
            let table = DeviceKeepalives(
                [try entry(trusted: stored, failed: stored, failedAge: stored, age: .min)], elapsed: .zero, at: start)
            #expect(table[try device(1), network].trusted == .seconds(read))
            _ = table[try device(1), network].goal(.seconds(900), at: start)
        }
    }
}

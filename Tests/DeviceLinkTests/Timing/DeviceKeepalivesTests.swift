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

    private func keepalive(_ table: DeviceKeepalives, _ number: Int = 1, at now: BootInstant? = nil) throws
        -> DeviceKeepalive
    {
        table.keepalive(try device(number), on: network, at: now ?? start)
    }

    @Test("A dead link halves what is trusted; a day later, without another one, it counts as an accident")
    func accident() throws {
        var table = DeviceKeepalives()
        let device = try device(1)
        table.linkDied(device, on: network, afterIdle: .seconds(500), interval: .seconds(240), at: start)
        #expect(try keepalive(table).trusted == .seconds(100))
        table.linked(device, on: network, at: after(24 * 3600 - 1))
        #expect(try keepalive(table).trusted == .seconds(100))
        table.linked(device, on: network, at: after(24 * 3600))
        #expect(try keepalive(table).trusted == .seconds(240))
    }

    @Test("A second dead link is no accident, and a third one leaves the limit that is known")
    func second() throws {
        var table = DeviceKeepalives()
        let device = try device(1)
        for (idle, time) in [(240, 0), (100, 1000), (45, 2000)] as [(Int64, Int64)] {
            table.linkDied(device, on: network, afterIdle: .seconds(idle), interval: .seconds(idle), at: after(time))
        }
        #expect(try keepalive(table).trusted == .seconds(45))
        #expect(try keepalive(table).limit == .seconds(240))
        table.linked(device, on: network, at: after(6 * 24 * 3600))
        #expect(try keepalive(table).trusted == .seconds(45))
        #expect(try keepalive(table).catchUp(with: .seconds(900), at: after(3000)) == .now(.seconds(142)))
    }

    @Test("A device that lost links at the shortest interval is not held there: a day later it tries more")
    func floor() throws {
        let bounds = KeepaliveBounds(start: .seconds(45))
        var table = DeviceKeepalives(bounds: bounds)
        let device = try device(1)
        let day = Int64(24 * 3600)
        table.linkDied(device, on: network, afterIdle: .seconds(45), interval: .seconds(45), at: start)
        #expect(try keepalive(table).catchUp(with: .seconds(900), at: start) == .now(.seconds(105)))
        table.linkDied(device, on: network, afterIdle: .seconds(45), interval: .seconds(45), at: start)
        #expect(try keepalive(table).catchUp(with: .seconds(900), at: after(10)) == .after(.seconds(day - 10)))
        #expect(try keepalive(table).catchUp(with: .seconds(900), at: after(day)) == .now(.seconds(105)))
        table.probeSurvived(device, on: network, .seconds(105), at: after(day))
        #expect(try keepalive(table).catchUp(with: .seconds(900), at: after(day)) == .now(.seconds(900)))
        #expect(try keepalive(table).catchUp(with: .seconds(114), at: after(day)) == .never, "nearly the same")
    }

    @Test("What a probe shows to fail is not trusted any more")
    func probeBelowTrusted() throws {
        var table = DeviceKeepalives()
        let device = try device(1)
        table.probeSurvived(device, on: network, .seconds(900), at: start)
        table.probeDied(device, on: network, .seconds(430), linkInterval: .seconds(195), at: start)
        #expect(try keepalive(table).trusted == .seconds(195))
        #expect(try keepalive(table).limit == .seconds(430))
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

    @Test("A new row takes the place of the device's oldest one, and in a full table of the oldest of all")
    func bounds() throws {
        var table = DeviceKeepalives(capacity: 20)
        for number in UInt8(0)..<100 {
            table.probeSurvived(try device(0), on: NetworkKey([number]), .seconds(900), at: after(Int64(number)))
        }
        #expect(table.count == DeviceKeepalives.maximumOfDevice)
        let now = after(300)
        #expect(table.keepalive(try device(0), on: NetworkKey([92]), at: now).trusted == .seconds(900))
        #expect(table.keepalive(try device(0), on: NetworkKey([91]), at: now).trusted == .seconds(240))
        for number in 1...100 {
            table.probeSurvived(try device(number), on: network, .seconds(900), at: after(100 + Int64(number)))
        }
        #expect(table.count <= 20 && table.count >= 18)
        for number in 84...100 { #expect(try keepalive(table, number, at: now).trusted == .seconds(900)) }
        #expect(try keepalive(table, 1, at: now).trusted == .seconds(240))
        #expect(table.lines(at: now).count == table.count)
    }

    @Test("What is stored comes back; a week after its last use nothing counts any more")
    func stored() throws {
        var table = DeviceKeepalives()
        table.probeSurvived(try device(1), on: network, .seconds(600), at: start)
        table.probeDied(try device(1), on: network, .seconds(900), linkInterval: .seconds(600), at: start)
        table.linkDied(try device(2), on: network, afterIdle: .seconds(240), interval: .seconds(240), at: after(10))
        let week = Int64(7 * 24 * 3600)
        let lines = table.lines(at: after(10))
        #expect(lines.count == 2)
        let restored = DeviceKeepalives(lines, elapsed: .seconds(5), at: after(15))
        for number in 1...2 {
            #expect(try keepalive(restored, number, at: after(15)) == keepalive(table, number, at: after(15)))
        }
        let late = DeviceKeepalives(lines, elapsed: .seconds(week - 5), at: after(10))
        #expect(late.count == 1, "the other one was used 10 s before")
        table.used(try device(1), on: network, at: after(100))
        #expect(try keepalive(table, 1, at: after(week)).trusted == .seconds(600))
        #expect(try keepalive(table, 2, at: after(week + 10)).trusted == .seconds(240))
        #expect(table.lines(at: after(week + 10)).count == 1)
        table.used(try device(2), on: network, at: after(week + 10))
        #expect(try keepalive(table, 2, at: after(week + 10)).trusted == .seconds(240), "too old to be used again")
    }

    @Test("Stored lines that make no sense are left out or brought within the bounds")
    func damaged() throws {
        let id = try device(1).rawValue
        let wrong = [
            "", "\(id)", "\(id) 0a0b 600", "x 0a0b 600 0", "\(id) xy 600 0", "\(id) 0a0b 600 9223372036854775807",
            "\(id) \(String(repeating: "0", count: 200)) 600 0", "\(id) 0a0b 600 0 900", "\(id) 0a0b six 0",
        ]
        #expect(DeviceKeepalives(wrong, elapsed: .zero, at: start).count == 0)
        let network = NetworkKey([10, 11])
        for (stored, read) in [(Int64.max, Int64(28 * 60)), (.min, 45)] {
            for cause in ["link", "links", "probe", "storm"] {
                let table = DeviceKeepalives(
                    ["\(id) 0a0b \(stored) \(Int64.min) \(stored) \(cause) \(stored)"], elapsed: .zero, at: start)
                let keepalive = table.keepalive(try device(1), on: network, at: start)
                #expect(keepalive.trusted == .seconds(read))
                _ = keepalive.catchUp(with: .seconds(900), at: start)
            }
        }
    }
}

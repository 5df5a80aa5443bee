@testable import CallAudio
import RingwakeCore
import Testing

/// What the engine tells of the outputs that the user chooses.
struct OutputChoiceTests {
    /// A call with a stream, on a server that has another output.
    private func rigWithCall() throws -> EngineRig {
        let rig = try EngineRig()
        rig.server.change {
            $0.image.addSink(9, "room")
            $0.image.addSink(10, "hall")
            $0.image.play(5, process: 100)
        }
        rig.settleDevices()
        try rig.apply(try .call())
        rig.clear()
        return rig
    }

    private func place(_ rig: EngineRig) -> UInt32? { rig.server.model.image.playing[5]?.device }

    private func answers(_ rig: EngineRig) -> [UInt64] {
        rig.reports.compactMap { if case .outputChosen(let number, isKnown: true) = $0 { number } else { nil } }
    }

    @Test("It is answered when the stream is there, after the route was told")
    func carriedOut() throws {
        let rig = try rigWithCall()
        rig.server.isHeld = true
        let number = rig.choose("room")
        rig.settle()
        #expect(rig.reports.isEmpty, "the server has not acknowledged it")
        rig.server.release()
        rig.settle()
        #expect(place(rig) == 9)
        guard case .routeChanged(.override, _, let current) = try #require(rig.reports.first) else {
            Issue.record("\(rig.reports)")
            return
        }
        #expect(current.outputs.map(\.device) == ["room"])
        #expect(rig.reports.dropFirst() == [.outputChosen(number: number, isKnown: true)])
    }

    @Test("A name that no output has changes nothing: the former choice is in force still")
    func unknown() throws {
        let rig = try rigWithCall()
        _ = rig.choose("room")
        rig.settle()
        rig.clear()
        rig.server.clear()
        let number = rig.choose("rome")
        rig.settle()
        #expect(rig.reports == [.outputChosen(number: number, isKnown: false)])
        #expect(rig.server.commands.isEmpty && place(rig) == 9)
    }

    @Test(
        "What stands for an output: a sink, a kind of port, a Bluetooth device; not what records, nor another card",
        arguments: [
            ("speakers", true), ("headphones", true), ("bluetoothHFP", true), ("hdmi", true), ("bluez_card.1", true),
            ("bluez.a2dp", true), ("microphone", false), ("builtInMicrophone", false), ("speakers.monitor", false),
            ("card", false), ("speaker", false), ("", false),
        ])
    func names(name: String, isKnown: Bool) throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.addBluetooth() }
        rig.settleDevices()
        rig.clear()
        let number = rig.choose(name)
        rig.settle()
        #expect(rig.reports == [.outputChosen(number: number, isKnown: isKnown)])
    }

    @Test("With no plan in force it is answered at once, and counts for the next one")
    func atOnce() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.addSink(9, "room") }
        rig.settleDevices()
        rig.clear()
        let number = rig.choose("room")
        rig.settle()
        #expect(rig.reports == [.outputChosen(number: number, isKnown: true)] && rig.server.commands.isEmpty)
        #expect(try rig.apply(try .call()).route.outputs.map(\.device) == ["room"])
    }

    @Test("With a plan on its way it is answered after that")
    func afterPlan() throws {
        let rig = try EngineRig()
        rig.server.change {
            $0.image.addSink(9, "room")
            $0.image.play(5, process: 100)
            $0.image.play(6, process: 300)
        }
        rig.settleDevices()
        rig.clear()
        rig.server.isHeld = true
        let plan = rig.send(try .call())
        rig.settle()
        let number = rig.choose("room")
        rig.settle()
        #expect(answers(rig).isEmpty && rig.answer(to: plan) == nil)
        rig.server.release()
        try #require(rig.drive { answers(rig) == [number] })
        #expect(rig.answer(to: plan) != nil && place(rig) == 9)
    }

    @Test("Each has its answer, in their order; those that were overtaken, with the last")
    func several() throws {
        let rig = try rigWithCall()
        rig.server.isHeld = true
        let numbers = ["room", "hall", "room", "hall"].map(rig.choose)
        rig.settle()
        #expect(answers(rig).isEmpty)
        rig.server.release()
        try #require(rig.drive { answers(rig).count == numbers.count })
        #expect(answers(rig) == numbers && place(rig) == 10)
        #expect(rig.server.commands.count == 2, "those in between are not carried out")
    }

    @Test("One without a number was chosen before: it is not answered, and what has the name may come")
    func remembered() throws {
        let rig = try rigWithCall()
        rig.engine.handle(.chooseOutput("garden"))
        rig.settle()
        #expect(rig.reports.isEmpty && place(rig) == 1)
        rig.server.change { $0.image.addSink(11, "garden") }
        rig.settleDevices()
        #expect(place(rig) == 11)
    }

    @Test("A choice during a plan that is refused is kept")
    func refusedPlan() throws {
        let rig = try EngineRig()
        rig.server.change {
            $0.image.addSink(9, "room")
            $0.image.play(6, process: 300)
        }
        rig.settleDevices()
        rig.server.isHeld = true
        let plan = rig.send(try .media(others: .interrupt, category: .playAndRecord))
        rig.settle()
        let number = rig.choose("room")
        // The last microphone goes before the plan is in force.
        let microphone = rig.server.model.image.sources[2]
        rig.server.change { $0.image.sources[2] = nil }
        rig.server.release()
        try #require(rig.drive { answers(rig) == [number] })
        #expect(throws: AudioSessionError.self) { try rig.answer(to: plan)?.get() }
        rig.server.change { $0.image.sources[2] = microphone }
        rig.settleDevices()
        #expect(try rig.apply(try .call()).route.outputs.map(\.device) == ["room"])
    }

    @Test("What waits when the server is lost is not answered after that; without a server it is at once")
    func lost() throws {
        let rig = try rigWithCall()
        rig.server.isHeld = true
        _ = ["room", "hall"].map(rig.choose)
        rig.settle()
        rig.server.crash()
        rig.settle()
        guard case .lost = try #require(rig.reports.last) else {
            Issue.record("\(rig.reports)")
            return
        }
        rig.clear()
        let number = rig.choose("anything")
        rig.settle()
        rig.server.connected()
        rig.settle()
        #expect(answers(rig) == [number])
    }
}

import RingwakeCore
import Testing

@Suite("The life of one call: deadlines, handlers that fail, inputs that do not fit")
struct CallStateMachineTests {
    @Test("A handler that does not report in time: the call fails and the handler is stopped")
    func reportDeadline() {
        var scenario = Scenario()
        scenario.send(.pushReceived(scenario.push()))
        scenario.send(.handlerStarted(scenario.key(), pid: 1))
        scenario.wait(.seconds(5))
        let effects = scenario.send(.deadlineReached)
        #expect(effects.states == ["ended"] && effects.last == .stopHandler(scenario.key()))
        #expect(
            scenario.state() == .ended(.handlerFailed, detail: "the handler did not report the call within 5.0 seconds")
        )
    }

    @Test("A reported call that is never confirmed does not ring and ends as handlerFailed")
    func confirmDeadline() {
        var scenario = Scenario()
        scenario.send(.pushReceived(scenario.push()))
        scenario.send(.reported(scenario.key(), CallUpdate(), ring: false))
        scenario.wait(.seconds(5))
        #expect(scenario.send(.deadlineReached).contains(.stopHandler(scenario.key())))
        #expect(!scenario.stages().contains("rang"))
    }

    @Test("A call that nobody answers ends as unanswered after the ring time; its handler is not stopped")
    func ringDeadline() {
        var scenario = Scenario()
        scenario.ring()
        scenario.wait(.seconds(45))
        #expect(scenario.send(.deadlineReached).states == ["ended"])
        #expect(scenario.state() == .ended(.unanswered, detail: nil))
    }

    @Test("An answer that the handler does not fulfil in time ends the call and stops the handler")
    func answerDeadline() {
        var scenario = Scenario()
        scenario.ring()
        scenario.send(.answerRequested(scenario.key()))
        scenario.wait(.seconds(10))
        #expect(scenario.send(.deadlineReached).last == .stopHandler(scenario.key()))
        #expect(scenario.stages().contains("connected") == false)
    }

    @Test("A call that is connected for longer than allowed ends")
    func connectedDeadline() {
        var scenario = Scenario()
        scenario.ring()
        scenario.send(.answerRequested(scenario.key()))
        scenario.send(.fulfilled(scenario.key(), .answer))
        #expect(scenario.coordinator.nextDeadline == scenario.now.advanced(by: .seconds(4 * 3600)))
        scenario.wait(.seconds(4 * 3600))
        #expect(scenario.send(.deadlineReached).states == ["ended"])
    }

    @Test("Declining asks the handler to end; the reason stays declined however the handler takes it")
    func decline() {
        for event in [
            Event.fulfilled(Scenario().key(), .end), .actionFailed(Scenario().key(), .end),
            .handlerExited(Scenario().key(), .exited(0)), .remoteEnded(Scenario().key(), .remoteEnded),
            .deadlineReached,
        ] {
            var scenario = Scenario()
            scenario.ring()
            #expect(scenario.send(.declineRequested(scenario.key())).states == ["ending"])
            scenario.wait(event == .deadlineReached ? .seconds(10) : .seconds(1))
            scenario.send(event)
            guard case .ended(.declined, _) = scenario.state() else {
                Issue.record("\(event) led to \(String(describing: scenario.state()))")
                continue
            }
        }
    }

    @Test("A handler that exits or could not be started ends its call as handlerFailed, in every state")
    func handlerGone() {
        var scenario = Scenario()
        scenario.send(.pushReceived(scenario.push("started")))
        scenario.send(.handlerExited(scenario.key("started"), .signalled(9)))
        #expect(scenario.state("started") == .ended(.handlerFailed, detail: "the handler was killed by signal 9"))
        scenario.send(.pushReceived(scenario.push("not")))
        scenario.send(.handlerNotStarted(scenario.key("not"), why: "no such file"))
        #expect(scenario.state("not") == .ended(.handlerFailed, detail: "no such file"))
        scenario.ring("ringing")
        scenario.send(.handlerExited(scenario.key("ringing"), .exited(3)))
        #expect(scenario.state("ringing") == .ended(.handlerFailed, detail: "the handler exited with status 3"))
    }

    @Test("An exit after the end clears the process id and changes nothing else")
    func exitAfterEnd() {
        var scenario = Scenario()
        scenario.ring()
        scenario.send(.remoteEnded(scenario.key(), .answeredElsewhere))
        #expect(scenario.coordinator.call(scenario.key())?.handler == 4711)
        #expect(scenario.send(.handlerExited(scenario.key(), .exited(0))).isEmpty)
        #expect(scenario.coordinator.call(scenario.key())?.handler == nil)
        #expect(scenario.state() == .ended(.answeredElsewhere, detail: nil))
    }

    @Test("What does not fit the state is refused with the state, and changes nothing")
    func refusals() {
        let key = Scenario().key()
        var woken = Scenario()
        woken.send(.pushReceived(woken.push()))
        var ringing = Scenario()
        ringing.ring()
        var connected = ringing
        connected.send(.answerRequested(key))
        connected.send(.fulfilled(key, .answer))
        var ended = ringing
        ended.send(.remoteEnded(key, .failed))

        let cases: [(Scenario, [Event])] = [
            (woken, [.ringConfirmed(key), .answerRequested(key), .declineRequested(key), .fulfilled(key, .answer)]),
            (ringing, [.reported(key, CallUpdate(), ring: true), .ringConfirmed(key), .fulfilled(key, .end)]),
            (connected, [.answerRequested(key), .declineRequested(key), .actionFailed(key, .answer)]),
            (ended, [.answerRequested(key), .endRequested(key), .remoteEnded(key, .failed), .ringConfirmed(key)]),
        ]
        for (scenario, events) in cases {
            for event in events {
                var copy = scenario
                let effects = copy.send(event)
                #expect(effects == [.refused(.wrongState(key, scenario.state() ?? .ended(.failed, detail: nil)))])
                #expect(copy.coordinator == scenario.coordinator)
            }
        }
    }

    @Test("An event for a call that is not there is refused")
    func unknownCall() {
        var scenario = Scenario()
        #expect(scenario.send(.answerRequested(scenario.key())) == [.refused(.unknownCall(scenario.key()))])
    }
}

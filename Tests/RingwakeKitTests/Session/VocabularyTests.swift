import RingwakeCore
import RingwakeKit
import Testing

/// The library's words are the daemon's. A word that is added to the daemon's does not compile here until it is added.
@Suite("Words")
struct VocabularyTests {
    @Test("a call's states", arguments: CallStateMachine.State.Name.allCases)
    func states(_ name: CallStateMachine.State.Name) {
        let state: CallState =
            switch name {
            case .queued: .queued
            case .woken: .woken
            case .reported: .reported
            case .confirmed: .confirmed
            case .ringing: .ringing
            case .answering: .answering
            case .connected: .connected
            case .held: .held
            case .dialling: .dialling
            case .connecting: .connecting
            case .ending: .ending
            case .ended: .ended
            }
        #expect(state.rawValue == name.rawValue)
    }

    @Test(
        "reasons why a call ended, and which of them a handler may report",
        arguments: RingwakeCore.CallEndReason.allCases)
    func endReasons(_ name: RingwakeCore.CallEndReason) {
        let reason: RingwakeKit.CallEndReason =
            switch name {
            case .failed: .failed
            case .remoteEnded: .remoteEnded
            case .unanswered: .unanswered
            case .answeredElsewhere: .answeredElsewhere
            case .declinedElsewhere: .declinedElsewhere
            case .declined: .declined
            case .localEnded: .localEnded
            case .expired: .expired
            case .cancelled: .cancelled
            case .handlerFailed: .handlerFailed
            case .restricted: .restricted
            case .blocked: .blocked
            case .busy: .busy
            case .replaced: .replaced
            }
        #expect(reason.rawValue == name.rawValue)
        #expect(reason.isReportable == RingwakeCore.CallEndReason.reportable.contains(name))
        #expect(reason.isReportableOfOutgoing == RingwakeCore.CallEndReason.reportableOfOutgoing.contains(name))
    }

    @Test("actions", arguments: RingwakeCore.CallAction.allCases)
    func actions(_ name: RingwakeCore.CallAction) {
        let kind: RingwakeKit.CallAction.Kind =
            switch name {
            case .answer: .answer
            case .start: .start
            case .end: .end
            case .hold: .hold
            case .unhold: .unhold
            case .mute: .mute
            case .unmute: .unmute
            case .dtmf: .dtmf
            case .merge: .merge
            }
        #expect(kind.rawValue == name.rawValue)
    }

    @Test("what keeps a call out", arguments: Restriction.Kind.allCases)
    func filters(_ name: Restriction.Kind) {
        let filter: CallFilter =
            switch name {
            case .doNotDisturb: .doNotDisturb
            case .blocked: .blockList
            case .appLimit: .appLimit
            case .callerLimit: .callerLimit
            case .level: .level
            }
        #expect(filter.rawValue == name.rawValue)
    }

    @Test("a word of a later version is kept")
    func unknown() {
        let reason = RingwakeKit.CallEndReason(rawValue: "boredom")
        #expect(reason.description == "boredom" && reason != .failed && !reason.isReportable)
    }
}

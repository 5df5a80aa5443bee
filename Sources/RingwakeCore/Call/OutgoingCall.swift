/// A call that the user of this device begins; CallKit's `CXStartCallAction`.
///
///     queued --wake--> dialling --report, fulfill(start)--> connecting --report(connected)--> connected <--> held
///       |                 |                                     |
///       +-----------------+-------------------------------------+---> ending, ended, as for every call
///
/// It is *queued* until the other calls are held or have ended for it, and a handler takes it. That handler is asked to
/// *start*: to call the other side. Its audio session is active from then on: ringback is the app's to play.
package struct OutgoingCall: Hashable, Sendable {
    package let key: CallKey
    /// Who is called, as the app writes it; its name, and whether the call has video.
    package let update: CallUpdate
    /// What happens to other calls in progress; nil: the app's policy decides.
    package let others: OtherCalls?
    /// When it was requested, in milliseconds since 1970 by the wall clock; for display only.
    package let wallClock: Int64
    /// Whether nothing may keep it from being tried: it calls an emergency number.
    package let isEmergency: Bool

    package init(
        _ key: CallKey, _ update: CallUpdate, others: OtherCalls? = nil, wallClock: Int64, isEmergency: Bool = false
    ) {
        self.key = key
        self.update = update
        self.others = others
        self.wallClock = wallClock
        self.isEmergency = isEmergency
    }

    /// How far its handler has got.
    package enum Progress: String, Hashable, Sendable, CaseIterable {
        /// It calls the other side: the same as fulfilling `start`.
        case dialled
        /// The other side is being reached: CallKit's `reportOutgoingCall(with:startedConnectingAt:)`.
        case connecting
        /// The other side has answered: CallKit's `reportOutgoingCall(with:connectedAt:)`.
        case connected

        var stage: TimelineEntry.Stage {
            switch self {
            case .dialled: .dialled
            case .connecting: .connecting
            case .connected: .connected
            }
        }
    }

    /// What a handler gets in place of a push's payload: the members of the request.
    static func payloads(of update: CallUpdate) -> [CallPayload] {
        let json = JSONWriter(capacity: 256) { object in
            object.add("to", update.caller)
            object.add("name", update.callerName)
            object.add("video", update.hasVideo ?? false)
        }
        return [CallPayload(push: 0, bytes: json.bytes)]
    }
}

extension CallStateMachine {
    /// A handler has the outgoing call, and is asked to start it.
    mutating func dial(by deadline: BootInstant) -> [Output] {
        enter(.dialling(fulfillBy: deadline)) + [.request(PendingAction(.start, by: deadline))]
    }

    /// The handler reports how far the outgoing call is. Changes nothing if it was further already.
    package mutating func report(_ progress: OutgoingCall.Progress, at now: BootInstant) throws(Refusal) -> [Output] {
        guard isOutgoing else { throw Refusal(state: state) }
        switch (state, progress) {
        case (.dialling, .dialled), (.dialling, .connecting):
            return enter(.connecting(until: now.advanced(by: deadlines.dial)))
        case (.dialling, .connected), (.connecting, .connected):
            guard lease == .taken else { throw Refusal(state: state, why: .unclaimed) }
            return enter(.connected(until: now.advanced(by: deadlines.connected))) + holdIfDue(at: now)
        case (.connecting, _), (.connected, _), (.held, _): return []
        default: throw Refusal(state: state)
        }
    }
}

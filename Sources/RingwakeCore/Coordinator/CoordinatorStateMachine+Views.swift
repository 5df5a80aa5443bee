// What the driver derives from the coordinator after each event, rather than being told step by step: whatever way a
// call takes, what rings and what keeps the machine awake ends with it.
extension CoordinatorStateMachine {
    /// The calls that ring, the oldest first, less those that the user has answered and that wait for others to be held.
    package var ringingCalls: [Call] {
        active.values.filter { $0.machine.state.name == .ringing && !waitsForOthers($0.key) }
            .sorted { $0.number < $1.number }
    }

    /// Whether a call goes on: a further one that rings is a waiting call.
    package var isInCall: Bool {
        isCellularActive
            || active.values.contains { call in
                switch call.machine.state {
                case .answering, .connected, .held: true
                case .queued, .woken, .reported, .confirmed, .ringing, .ending, .ended: false
                }
            }
    }

    /// Whether a call is on its way to its answer, its refusal or its deadline: the machine has to stay awake for it.
    package var isAnyCallUnanswered: Bool {
        active.values.contains { call in
            switch call.machine.state {
            case .queued, .woken, .reported, .confirmed, .ringing, .answering: true
            case .connected, .held, .ending, .ended: false
            }
        }
    }

    /// Whether the user has answered, or gone on with, this call, and other calls are being held or ended for it.
    package func waitsForOthers(_ key: CallKey) -> Bool { waiter?.key == key }

    /// The strikes against the app's handler, the oldest first: those that counted when the last one came.
    package func strikes(of app: AppID) -> [Strike] { strikeRecords[app]?.strikes ?? [] }

    /// Whether the app's handler is not started any more, until its strikes are cleared.
    package func isStruckOut(_ app: AppID) -> Bool { strikeRecords[app]?.isStruckOut ?? false }
}

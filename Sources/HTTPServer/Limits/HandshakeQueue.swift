import RunLoop

/// Limits how many TLS handshakes are continued in one turn of the loop: each takes up to a millisecond of processor
/// time, and a stranger can begin thousands. The others wait, and the networks take turns.
final class HandshakeQueue {
    /// Maximum handshakes that are continued in a turn.
    private static let maximumPerTurn = 8
    /// How many waiting handshakes of one network count for ``pressure``: one network alone can't stop the accepts.
    private static let countedOfNetwork = 8

    private let runLoop: RunLoop
    private let highPressure: Int
    private var turn = BootClock.Instant(nanoseconds: .min)
    private var continuedInTurn = 0
    private var waiting: [PeerNetwork: [HTTP2Connection]] = [:]
    /// The networks with waiting handshakes; the first is next.
    private var turns: [PeerNetwork] = []
    private var pressure = 0
    private var isPressed = false
    private var isScheduled = false
    /// Is called when so many networks have begun to wait for this process that it should accept no more, and again when
    /// it may. Connections that nobody can serve are better off in the kernel's backlog.
    var onPressure: (Bool) -> Void = { _ in }

    /// - Parameter highPressure: how many waiting handshakes are too many.
    init(runLoop: RunLoop, highPressure: Int) {
        self.runLoop = runLoop
        self.highPressure = max(1, highPressure)
    }

    var waitingCount: Int { waiting.count }

    /// Whether a connection may continue its handshake now. If not, it must not wait for its socket:
    /// ``HTTP2Connection/continueHandshake()`` is called later.
    func mayContinue(_ connection: HTTP2Connection) -> Bool {
        if turn != runLoop.now {
            turn = runLoop.now
            continuedInTurn = 0
        }
        if turns.isEmpty, continuedInTurn < Self.maximumPerTurn {
            continuedInTurn += 1
            return true
        }
        change(connection.network) { $0.append(connection) }
        schedule()
        return false
    }

    /// Forgets a connection that has been closed.
    func remove(_ connection: HTTP2Connection) {
        guard waiting[connection.network] != nil else { return }
        change(connection.network) { queue in queue.removeAll { $0 === connection } }
    }

    private func change(_ network: PeerNetwork, _ body: (inout [HTTP2Connection]) -> Void) {
        let before = waiting[network]?.count ?? 0
        body(&waiting[network, default: []])
        let after = waiting[network]?.count ?? 0
        if after == 0 {
            waiting[network] = nil
            turns.removeAll { $0 == network }
        } else if before == 0 {
            turns.append(network)
        }
        pressure += min(after, Self.countedOfNetwork) - min(before, Self.countedOfNetwork)
        guard isPressed ? pressure <= highPressure / 2 : pressure >= highPressure else { return }
        isPressed.toggle()
        onPressure(isPressed)
    }

    /// A timer, not enqueued work: it fires after the turn of the connections whose handshake is done.
    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        runLoop.schedule(at: runLoop.now, tolerance: .zero) {
            self.isScheduled = false
            for _ in 0..<Self.maximumPerTurn {
                guard let network = self.turns.first, let next = self.waiting[network]?.first else { break }
                // To the end, if more of the network wait.
                self.turns.removeFirst()
                self.turns.append(network)
                self.change(network) { $0.removeFirst() }
                next.continueHandshake()
            }
            if !self.turns.isEmpty { self.schedule() }
        }
    }
}

import RunLoop

/// Limits how many TLS handshakes are continued in one turn of the loop: each takes up to a millisecond of processor
/// time, and a stranger can begin thousands. The others wait, and each network gets its turn.
final class HandshakeQueue {
    /// Maximum handshakes that are continued in a turn.
    private static let maximumPerTurn = 8

    private let runLoop: RunLoop
    private var turn = BootClock.Instant(nanoseconds: .min)
    private var continuedInTurn = 0
    private var waiting: [HTTP2Connection] = []
    /// Networks that had their turn in the present round.
    private var served: Set<PeerNetwork> = []
    private var isScheduled = false

    init(runLoop: RunLoop) {
        self.runLoop = runLoop
    }

    /// Whether a connection may continue its handshake now. If not, it must not wait for its socket:
    /// ``HTTP2Connection/continueHandshake()`` is called later.
    func mayContinue(_ connection: HTTP2Connection) -> Bool {
        if turn != runLoop.now {
            turn = runLoop.now
            continuedInTurn = 0
        }
        if waiting.isEmpty, continuedInTurn < Self.maximumPerTurn {
            continuedInTurn += 1
            return true
        }
        waiting.append(connection)
        schedule()
        return false
    }

    /// Forgets a connection that has been closed.
    func remove(_ connection: HTTP2Connection) {
        guard let index = waiting.firstIndex(where: { $0 === connection }) else { return }
        waiting.remove(at: index)
    }

    /// A timer, not enqueued work: it fires after the turn of the connections whose handshake is done.
    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        runLoop.schedule(at: runLoop.now, tolerance: .zero) {
            self.isScheduled = false
            for _ in 0..<Self.maximumPerTurn {
                guard let next = self.takeNext() else { break }
                next.continueHandshake()
            }
            if self.waiting.isEmpty {
                self.served = []
            } else {
                self.schedule()
            }
        }
    }

    private func takeNext() -> HTTP2Connection? {
        if !waiting.contains(where: { !served.contains($0.network) }) { served = [] }
        guard let index = waiting.firstIndex(where: { !served.contains($0.network) }) else { return nil }
        let next = waiting.remove(at: index)
        served.insert(next.network)
        return next
    }
}

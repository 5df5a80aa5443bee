import CRingwakeLinux
import RunLoop

/// Returns memory to the system after many connections have ended. The allocator keeps what they used, until it is told
/// to look for whole free pages (malloc_trim(3)).
struct MemoryTrimmer {
    /// Fewer connections leave little behind. Forty with all their streams left 45 MB.
    private static let leastPeak = 8
    /// From the time at which half of the connections have ended. Others of the same crowd end meanwhile.
    private static let delay: Duration = .seconds(10)

    private let runLoop: RunLoop
    private var peak = 0

    init(runLoop: RunLoop) {
        self.runLoop = runLoop
    }

    mutating func noteConnections(_ count: Int) {
        peak = max(peak, count)
        guard peak >= Self.leastPeak, count * 2 <= peak else { return }
        peak = count
        runLoop.schedule(
            at: runLoop.now.advanced(by: Self.delay), tolerance: Self.delay, wakingFromSuspend: false
        ) {
            ringwake_trim_memory()
        }
    }
}

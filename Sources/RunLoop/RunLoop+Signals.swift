internal import CRingwakeLinux
internal import Glibc

/// The signals of a loop, which share one descriptor.
final class SignalTable {
    /// Maximum signals per read.
    static let batch = 16

    fileprivate var bodies: [UInt32: () -> Void] = [:]
    fileprivate var mask = sigset_t()
    fileprivate var descriptor: Int32 = -1
    var isChildSignalRestored = false

    init() {
        sigemptyset(&mask)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Delivers one batch. The descriptor stays ready if there are more.
    fileprivate func deliver() {
        withUnsafeTemporaryAllocation(of: signalfd_siginfo.self, capacity: Self.batch) { buffer in
            let size = MemoryLayout<signalfd_siginfo>.size
            let length = read(descriptor, buffer.baseAddress, size * Self.batch)
            guard length > 0 else { return }
            for index in 0..<(length / size) {
                // A separate reference, because the body may register another signal.
                let body = bodies[buffer[index].ssi_signo]
                body?()
            }
        }
    }
}

extension RunLoop {
    /// Calls `body` in the next turn after the signal `number`, instead of its default action.
    ///
    /// Blocks the signal in the calling thread. Threads and programs that it starts later inherit that: call this
    /// before the first thread is created, and start children with an empty mask. The signal stays blocked after the
    /// loop is gone. A second call for the same signal replaces the first.
    /// - Throws: EINVAL if it isn't a signal or can't be caught; EMFILE, ENFILE, ENOMEM.
    package func onSignal(_ number: Int32, _ body: @escaping () -> Void) throws(RunLoopError) {
        guard let index = UInt32(exactly: number), number != SIGKILL, number != SIGSTOP,
            sigaddset(&signals.mask, number) == 0
        else { throw RunLoopError(operation: "sigaddset", errno: EINVAL) }
        var one = sigset_t()
        sigemptyset(&one)
        sigaddset(&one, number)
        let blocked = pthread_sigmask(SIG_BLOCK, &one, nil)
        guard blocked == 0 else { throw RunLoopError(operation: "pthread_sigmask", errno: blocked) }
        let isNew = signals.descriptor < 0
        let descriptor = ringwake_signalfd(signals.descriptor, &signals.mask)
        guard descriptor >= 0 else { throw RunLoopError(operation: "signalfd", errno: errno) }
        signals.descriptor = descriptor
        signals.bodies[index] = body
        if isNew {
            let table = signals
            _ = try add(descriptor, interest: .read, cause: .signal, isOwned: false) { _ in table.deliver() }
        }
    }
}

import CRingwakeLinux
import Cryptography
import Glibc
import RingwakeCore
import RunLoop
import Testing

@Suite("A look at a TLS server")
struct TLSProbeTests {
    // Written by the thread alone, read once it was joined.
    private final class Outcome: @unchecked Sendable {
        var problem: String?
    }

    @Test("A handshake goes on when the wait is interrupted, as by the sleep of the machine")
    func interrupted() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (near, far) = (ends[0], ends[1])
        defer { close(near) }
        // Only with a limit does a wait end so (signal(7)).
        var limit = timeval(tv_sec: 300, tv_usec: 0)
        setsockopt(near, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        var former = sigaction()
        sigaction(SIGUSR2, &action, &former)
        defer { sigaction(SIGUSR2, &former, nil) }
        signal(SIGPIPE, SIG_IGN)
        let outcome = Outcome()
        let identity = ThreadIdentity()
        let thread = try WorkerThread(name: "probe", stackBytes: 1 << 20) {
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGUSR2)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            identity.set()
            do throws(RingwakeError) {
                _ = try TLSProbe(descriptor: near, alpn: "h2")
            } catch {
                outcome.problem = error.message
            }
        }
        // Once the first flight is here, the client waits for the answer.
        var byte: UInt8 = 0
        #expect(recv(far, &byte, 1, 0) == 1)
        for _ in 0..<50 {
            identity.interrupt(SIGUSR2)
            usleep(1_000)
        }
        close(far)
        thread.join()
        #expect(outcome.problem == "the TLS handshake failed: Connection reset by peer")
    }

    // Written before the client sends its first byte, for which the test waits.
    private final class ThreadIdentity: @unchecked Sendable {
        private var thread: pthread_t?

        func set() { thread = pthread_self() }

        func interrupt(_ signal: Int32) {
            if let thread { pthread_kill(thread, signal) }
        }
    }
}

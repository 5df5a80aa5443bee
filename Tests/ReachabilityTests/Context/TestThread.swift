import CRingwakeLinux
import Glibc

/// A thread that runs a body once.
struct TestThread {
    private let thread: pthread_t

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    init(_ body: @escaping @Sendable () -> Void) throws {
        let reference = Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        let code = ringwake_start_thread(
            &thread, 256 << 10, "test",
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, reference.toOpaque())
        guard code == 0 else {
            reference.release()
            throw CommandFailure.system("pthread_create", code)
        }
        self.thread = thread
    }

    func join() {
        pthread_join(thread, nil)
    }
}

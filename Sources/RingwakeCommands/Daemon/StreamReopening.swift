import ControlProtocol
import Glibc
import RingwakeCore

/// Opens a stream of events again, once the daemon is back.
struct StreamReopening {
    /// The first and the longest pause between two attempts.
    private static let pauses = (first: Duration.milliseconds(100), longest: Duration.seconds(1))

    let client: ControlClient
    let target: RequestTarget
    let context: CommandContext

    /// The new stream; nil if the deadline passed, or the reader of the output left.
    ///
    /// - Parameter call: the call that is watched; its handler claims it.
    /// - Throws: the daemon's refusal.
    func reopen(call: String?, until deadline: Deadline?) throws(RingwakeError) -> EventStream? {
        var pause = Self.pauses.first
        while true {
            guard waits(pause), deadline?.hasPassed != true else { return nil }
            do throws(RingwakeError) {
                claim(call, until: deadline)
                return try client.ending(at: deadline).events(target)
            } catch {
                guard [.daemonNotRunning, .unreachable, .timedOut].contains(error.code) else { throw error }
            }
            pause = min(pause + pause, Self.pauses.longest)
        }
    }

    /// A refusal is usual: the daemon knows a handler again by its process, and then there is nothing to claim. If the
    /// daemon is still away, the stream's error says so.
    private func claim(_ call: String?, until deadline: Deadline?) {
        guard let call, call == context.environment("RINGWAKE_CALL"), client.secret != nil else { return }
        let target = RequestTarget("calls", call, CallVerb.claim.rawValue)
        let _: CallMessage? = try? client.ending(at: deadline).post(target)
    }

    /// Waits. False if the reader of the output has left.
    private func waits(_ pause: Duration) -> Bool {
        // Request no events: poll(2) always reports POLLERR, the sign of a closed reading end.
        var entry = pollfd(fd: context.output.descriptor ?? -1, events: 0, revents: 0)
        return poll(&entry, 1, Deadline(after: pause).pollTimeout) <= 0
    }
}

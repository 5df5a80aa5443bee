import ControlProtocol
import Glibc
import RingwakeCore

/// Follows the call that a push started, on the local daemon, until it ends.
struct CallTrace {
    /// The first and the longest wait between two requests, in milliseconds.
    private static let firstWait: Int32 = 10
    private static let longestWait: Int32 = 250

    let client: ControlClient
    let app: String

    /// Returns the call that the push `pushID` started, when it has ended or `timeout` has passed. Nil if the push
    /// started no call.
    func follow(_ pushID: String, timeout: Duration) throws(RingwakeError) -> CallMessage? {
        let deadline = Deadline(after: timeout)
        let push = RequestTarget("pushes", pushID, query: [("app", app)])
        var target: RequestTarget?
        var wait = CallTrace.firstWait
        var latest: CallMessage?
        while true {
            do throws(RingwakeError) {
                // The payload may name the call, so its id need not be the push's.
                let known = if let target { target } else { callTarget(of: try client.get(push)) }
                target = known
                let call: CallMessage = try client.get(known)
                latest = call
                if call.reason != nil || call.state == "ended" { return call }
            } catch {
                // Not found: another push service accepted the push, or the daemon doesn't show it yet.
                guard error.code == .notFound else { throw error }
            }
            let left = deadline.pollTimeout
            if left == 0 { return latest }
            poll(nil, 0, min(wait, left))
            wait = min(wait * 3 / 2, CallTrace.longestWait)
        }
    }

    private func callTarget(of push: PushMessage) -> RequestTarget {
        RequestTarget("calls", push.call, query: [("app", app)])
    }
}

import ControlProtocol
import Glibc
import RingwakeCore

/// Follows the call that a push started, at the local daemon, until it ended.
struct CallTrace {
    /// The first wait between two looks, in milliseconds, and the longest.
    private static let firstWait: Int32 = 10
    private static let longestWait: Int32 = 250

    let client: ControlClient
    let app: String

    /// The call that the push `pushID` started as it stands when it has ended, or at the latest after `timeout`.
    /// Nil when no such call came about.
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
                // A push service elsewhere took it, and this daemon has not heard of it.
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

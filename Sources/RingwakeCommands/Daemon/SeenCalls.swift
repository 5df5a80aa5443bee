import ControlProtocol
import RingwakeCore

/// The calls that a stream of events has shown, for one that is opened after it: the daemon may have ended some of them
/// in between.
struct SeenCalls {
    /// The numbers of those in progress.
    private var open: Set<Int64> = []
    private var highest: Int64?

    /// The number of the first call whose end may have been missed; nil: none was shown.
    var since: Int64? {
        // The daemon counts from 1.
        (open.min() ?? highest.map { $0 < .max ? $0 + 1 : $0 }).map { max(1, $0) }
    }

    /// Returns false if the event repeats the end of a call that was shown already.
    mutating func note(_ change: EventMessage.CallChange) -> Bool {
        let number = change.number
        let wasOpen = open.contains(number)
        let isKnown = highest.map { number <= $0 } ?? false
        highest = max(number, highest ?? number)
        guard change.state == CallStateMachine.State.Name.ended.rawValue else {
            open.insert(number)
            return true
        }
        open.remove(number)
        return wasOpen || !isKnown
    }
}

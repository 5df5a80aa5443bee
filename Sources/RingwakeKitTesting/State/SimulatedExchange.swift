internal import RingwakeKit

/// Receives a client's events, in order, outside the lock.
typealias SimulatedExchange = @Sendable (SimulatedExchangeEvent) -> Void

enum SimulatedExchangeEvent: Sendable {
    /// The stream begins.
    case opened
    /// A line of the stream, without its end.
    case line([UInt8])
    /// The stream ended.
    case ended
    case answered(ControlAnswer)
    /// The daemon stopped before its answer, or in the middle of the stream.
    case dropped
}

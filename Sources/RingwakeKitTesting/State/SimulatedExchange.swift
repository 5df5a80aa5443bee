internal import RingwakeKit

/// Receives what a client gets: in order, outside of the lock.
typealias SimulatedExchange = @Sendable (SimulatedExchangeEvent) -> Void

enum SimulatedExchangeEvent: Sendable {
    /// The stream begins.
    case opened
    /// A line of the stream, without its end.
    case line([UInt8])
    /// The stream ended.
    case ended
    case answered(ControlAnswer)
    /// The daemon ended before it answered, or in the stream.
    case dropped
}

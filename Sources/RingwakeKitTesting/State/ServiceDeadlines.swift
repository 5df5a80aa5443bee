internal import CallService
internal import RingwakeCore

extension CallServiceStateMachine {
    /// When the device's protected data become unavailable; nil if that isn't announced.
    var protectedDataEnd: BootInstant? {
        if case .willBecomeUnavailable(let end) = protectedData { end } else { nil }
    }

    /// When something happens next by itself.
    var nextChange: BootInstant? { [nextDeadline, screening.nextChange, protectedDataEnd].compactMap { $0 }.min() }
}

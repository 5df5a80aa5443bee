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

extension LocalMoment {
    /// The wall clock of a simulated daemon. It starts at noon on a Wednesday.
    static func simulated(at now: BootInstant) -> LocalMoment {
        let passed = now.nanoseconds / 1_000_000 - 3_600_000
        let minute = 12 * 60 + passed / 60_000
        return LocalMoment(
            weekday: Int((2 + minute / 1440) % 7) + 1, minuteOfDay: Int(minute % 1440),
            wallMilliseconds: 1_767_787_200_000 + passed)
    }
}

internal import ControlProtocol
internal import ProviderAPI
internal import PushGateway
internal import RingwakeCore
internal import RunLoop

extension PushFaultMessage {
    /// The fault that the message asks for.
    ///
    /// - Throws: `invalidRequest`.
    func fault(at now: BootClock.Instant) throws(RingwakeError) -> PushFault {
        for (name, value, maximum) in [
            ("delayMs", delayMs, PushFaultMessage.maximumDelayMs),
            ("after", after.map(Int64.init), Int64(PushFaultMessage.maximumPushes)),
            ("count", count.map(Int64.init), Int64(PushFaultMessage.maximumPushes)),
            ("forMs", forMs, PushFaultMessage.maximumTimeMs),
        ] {
            let minimum: Int64 = name == "count" || name == "forMs" ? 1 : 0
            guard value.map({ (minimum...maximum).contains($0) }) ?? true else {
                throw RingwakeError(.invalidRequest, "'\(name)' is a whole number from \(minimum) to \(maximum)")
            }
        }
        let end = forMs.map { now.advanced(by: .milliseconds($0)) }
        return PushFault(try kind(), after: after ?? 0, count: count, until: end)
    }

    private func kind() throws(RingwakeError) -> PushFault.Kind {
        let name = Name(rawValue: fault)
        guard (name == .delay) == (delayMs != nil) else {
            throw RingwakeError(.invalidRequest, "'delayMs' goes with the fault 'delay', and with no other")
        }
        switch name {
        case .delay: return .delay(.milliseconds(delayMs ?? 0))
        case .goaway: return .goAway
        case .reset: return .reset
        case .silence: return .silence
        case nil: break
        }
        guard let reason = RejectionReason(rawValue: fault) else {
            let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
            throw RingwakeError(
                .invalidRequest, "'\(fault)' is no fault: give \(names), or a reason of APNs such as BadDeviceToken")
        }
        return .refusal(reason)
    }

    /// A fault that is set.
    init(_ fault: PushFault, _ environment: PushEnvironment, at now: BootClock.Instant) {
        let (name, delay) = fault.kind.names
        self.init(
            environment: environment.rawValue, fault: name, delayMs: delay, after: fault.after == 0 ? nil : fault.after,
            count: fault.count, forMs: fault.end.map { max(0, now.duration(to: $0).milliseconds) })
    }
}

extension PushFault.Kind {
    /// The name in the control API, and the milliseconds of a delay.
    var names: (name: String, delayMs: Int64?) {
        switch self {
        case .refusal(let reason): (reason.rawValue, nil)
        case .delay(let time): (PushFaultMessage.Name.delay.rawValue, time.milliseconds)
        case .goAway: (PushFaultMessage.Name.goaway.rawValue, nil)
        case .reset: (PushFaultMessage.Name.reset.rawValue, nil)
        case .silence: (PushFaultMessage.Name.silence.rawValue, nil)
        }
    }
}

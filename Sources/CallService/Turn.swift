package import ControlProtocol
package import RingwakeCore

/// The context of one event: the time, the queries to the host, and the effects so far.
package struct Turn {
    package let now: BootInstant
    package let host: HostQueries
    package private(set) var effects: [ServiceEffect] = []

    init(now: BootInstant, host: HostQueries) {
        self.now = now
        self.host = host
    }

    mutating func add(_ effect: ServiceEffect) { effects.append(effect) }

    mutating func respond(_ id: RequestID, _ result: Result<any Encodable, RingwakeError>) {
        switch result {
        case .success(let message): add(.respond(id, status: 200, json: controlJSON(message)))
        case .failure(let error):
            add(
                .respond(
                    id, status: error.code.httpStatus,
                    json: controlJSON(ErrorMessage(error: error.code.slug, message: error.message))))
        }
    }

    /// When the push of `call` arrived, in the control API's time format: by the wall clock at that time if known,
    /// otherwise computed from the current one.
    func arrival(of call: Call) -> String {
        let age = call.receivedAt.duration(to: now).milliseconds
        return UTCTime(
            milliseconds: call.receivedWallClock
                ?? host.wallMilliseconds().subtractingReportingOverflow(age).partialValue
        ).description
    }

    /// The current state of a call. Who called in one that has ended is data at rest, and shown only while its class is
    /// available.
    func message(
        of call: Call, _ coordinator: CoordinatorStateMachine, _ protection: ProtectionState = ProtectionState()
    ) -> CallMessage {
        var message = CallMessage(
            call, pid: coordinator.process(of: call), receivedAt: arrival(of: call),
            deadline: coordinator.deadline(of: call), at: now)
        if call.machine.hasEnded, let lock = protection.lock(of: .callers) { message.hideCaller(lock) }
        return message
    }

    mutating func respond(_ id: RequestID, _ message: any Encodable) { respond(id, .success(message)) }
}

/// The service's synchronous queries to its host.
package struct HostQueries {
    /// The wall clock, in milliseconds since 1970.
    let wallMilliseconds: () -> Int64
    /// The current time in the device's time zone.
    let moment: () -> LocalMoment
    /// The lists' result for a caller.
    let verdict: (CallerHandle) -> ListVerdict?
    /// Makes an unguessable secret.
    let makeSecret: () throws(RingwakeError) -> String
    /// The hash of a secret, for storage.
    let hash: (String) -> [UInt8]
    /// The connection status for a new stream: of one app, or of the daemon and each app with targets.
    let connections: (AppID?) -> [EventMessage]
    /// What a new stream begins with of the device's cellular networks.
    let telephony: () -> [EventMessage]

    package init(
        wallMilliseconds: @escaping () -> Int64, moment: @escaping () -> LocalMoment,
        verdict: @escaping (CallerHandle) -> ListVerdict?, makeSecret: @escaping () throws(RingwakeError) -> String,
        hash: @escaping (String) -> [UInt8],
        connections: @escaping (AppID?) -> [EventMessage] = { _ in [] },
        telephony: @escaping () -> [EventMessage] = { [] }
    ) {
        self.wallMilliseconds = wallMilliseconds
        self.moment = moment
        self.verdict = verdict
        self.makeSecret = makeSecret
        self.hash = hash
        self.connections = connections
        self.telephony = telephony
    }
}

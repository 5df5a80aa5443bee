package import ControlProtocol
package import RingwakeCore

/// One event's turn: when it is, what the host can be asked, and the effects so far.
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

    /// When the push of `call` arrived, as the control API writes times: by the wall clock as it stood then, if known.
    func arrival(of call: Call) -> String {
        let age = call.receivedAt.duration(to: now).milliseconds
        return UTCTime(
            milliseconds: call.receivedWallClock
                ?? host.wallMilliseconds().subtractingReportingOverflow(age).partialValue
        ).description
    }

    mutating func respond(_ id: RequestID, _ message: any Encodable) { respond(id, .success(message)) }
}

/// What the service asks of its host in the middle of an event, answered at once.
package struct HostQueries {
    /// The wall clock, in milliseconds since 1970.
    let wallMilliseconds: () -> Int64
    /// The present in the device's time zone.
    let moment: () -> LocalMoment
    /// What the lists say about a caller.
    let verdict: (CallerHandle) -> ListVerdict?
    /// A secret that nobody can guess.
    let makeSecret: () throws(RingwakeError) -> String
    /// A secret as it may be stored.
    let hash: (String) -> [UInt8]
    /// The process that has this PID now.
    let process: (Int32) -> ProcessIdentity?
    /// The start of a handler whose unit this process belongs to.
    let unit: (Int32) -> WakeID?
    /// The connection status that a new stream begins with: of one app, or of the daemon and each app with targets.
    let connections: (AppID?) -> [EventMessage]

    package init(
        wallMilliseconds: @escaping () -> Int64, moment: @escaping () -> LocalMoment,
        verdict: @escaping (CallerHandle) -> ListVerdict?, makeSecret: @escaping () throws(RingwakeError) -> String,
        hash: @escaping (String) -> [UInt8], process: @escaping (Int32) -> ProcessIdentity?,
        unit: @escaping (Int32) -> WakeID? = { _ in nil },
        connections: @escaping (AppID?) -> [EventMessage] = { _ in [] }
    ) {
        self.wallMilliseconds = wallMilliseconds
        self.moment = moment
        self.verdict = verdict
        self.makeSecret = makeSecret
        self.hash = hash
        self.process = process
        self.unit = unit
        self.connections = connections
    }
}

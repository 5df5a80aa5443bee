internal import ControlProtocol
internal import RingwakeCore

/// `/v1/pushes`: the outcomes of accepted pushes.
enum PushRoutes {
    static func list(_ request: ServiceRequest, _ turn: inout Turn) throws(RingwakeError) {
        try request.require("GET", parameters: ["app", "limit", "before"])
        let page = try request.page()
        let query = PushQuery(app: try request.app(), limit: page.limit + 1, before: page.before)
        turn.add(
            .readPushes(query) { result in
                .resumed { service, turn in
                    turn.respond(
                        request.id,
                        result.flatMap { pushes in
                            // The pushes of an app that was removed stay.
                            if pushes.isEmpty, let error = service.error(ofFilter: query.app) {
                                return .failure(error)
                            }
                            let shown = pushes.prefix(page.limit)
                            return .success(
                                PushListMessage(
                                    pushes: shown.map { message(of: $0, service) },
                                    next: pushes.count > shown.count ? shown.last?.sequence : nil))
                        })
                }
            })
    }

    /// The newest push with this id, of one app; several senders may have used the id.
    static func show(_ request: ServiceRequest, _ turn: inout Turn) throws(RingwakeError) {
        try request.require("GET", parameters: ["app"])
        let (id, app) = (request.parts[1], try request.app())
        turn.add(
            .readPushes(PushQuery(app: app, pushID: id)) { result in
                .resumed { service, turn in
                    turn.respond(
                        request.id,
                        result.flatMap { pushes in
                            guard let newest = pushes.first else { return unjournaled(id, app, service, turn) }
                            let apps = Set(pushes.map(\.push.app.rawValue))
                            guard apps.count == 1 else {
                                let names = apps.sorted().joined(separator: ", ")
                                return .failure(
                                    RingwakeError(
                                        .conflict, "several apps have a push '\(id)': \(names); name one with app="))
                            }
                            return .success(message(of: newest, service))
                        })
                }
            })
    }

    /// A push that is not in the journal although its call exists: its sender was asked to send it again.
    private static func unjournaled(
        _ id: String, _ app: AppID?, _ service: CallServiceStateMachine, _ turn: Turn
    ) -> Result<any Encodable, RingwakeError> {
        let known = Array(service.coordinator.active.values) + service.coordinator.finished
        let wanted = id.canonicalPushID
        let call = known.first { call in
            !call.isJournaled && (app == nil || call.key.app == app) && call.pushID.canonicalPushID == wanted
        }
        guard let call else {
            return .failure(
                RingwakeError(
                    .notFound,
                    "no push '\(id)' is known; 'ringwake push list' shows those that were accepted, the daemon's log "
                        + "those that were refused"))
        }
        return .success(PushMessage(notDurable: call, receivedAt: turn.arrival(of: call)))
    }

    /// The push, with the current state of its call.
    private static func message(of push: JournaledPush, _ service: CallServiceStateMachine) -> PushMessage {
        let remembered = push.call.flatMap { service.coordinator.call($0.record.key) }
        let isSame = remembered?.number == push.call?.record.number
        return PushMessage(push, call: isSame ? remembered?.record ?? push.call?.record : push.call?.record)
    }
}

extension PushMessage {
    /// A push from the journal.
    ///
    /// - Parameter call: the current state of its call; nil if the call is no longer known.
    init(_ journaled: JournaledPush, call: CallRecord?) {
        self.init(
            journaled.push, durableAt: journaled.journaledAt,
            receivedAt: UTCTime(milliseconds: journaled.receivedWallClock).description, call: call)
    }
}

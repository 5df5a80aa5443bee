internal import ControlProtocol
internal import HTTPServer
internal import PushJournal
internal import RingwakeCore

// `/v1/pushes`: what became of the pushes that were taken.
extension ControlServer {
    func pushes(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["app", "limit", "before"])
        let page = try request.page()
        let query = PushQuery(app: try request.app(), limit: page.limit + 1, before: page.before)
        journal.pushes(query) { [self] result in
            exchange.respond(
                result.map { pushes in
                    let shown = pushes.prefix(page.limit)
                    return PushListMessage(
                        pushes: shown.map(message(of:)),
                        next: pushes.count > shown.count ? shown.last?.sequence : nil)
                })
        }
    }

    /// Of several pushes of one app with this id, by several senders, the newest.
    func push(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["app"])
        let (id, app) = (request.parts[1], try request.app())
        journal.pushes(PushQuery(app: app, apnsID: id)) { [self] result in
            exchange.respond(
                result.flatMap { pushes in
                    guard let newest = pushes.first else { return unjournaled(id, app) }
                    let apps = Set(pushes.map(\.push.app.rawValue))
                    guard apps.count == 1 else {
                        let names = apps.sorted().joined(separator: ", ")
                        return .failure(
                            RingwakeError(
                                .conflict, "several apps have a push '\(id)': \(names); name one with app="))
                    }
                    return .success(message(of: newest))
                })
        }
    }

    /// A push that the journal does not have although its call came about: its sender was told to send it again.
    private func unjournaled(_ id: String, _ app: AppID?) -> Result<any Encodable, RingwakeError> {
        let known = Array(runner.coordinator.active.values) + runner.coordinator.finished
        let call = known.first { call in
            !call.isJournaled && (app == nil || call.key.app == app) && call.apnsID.lowercased() == id.lowercased()
        }
        guard let call else {
            return .failure(
                RingwakeError(
                    .notFound,
                    "no push '\(id)' is known; 'ringwake push list' shows those that were taken, the daemon's log "
                        + "those that were refused"))
        }
        return .success(PushMessage(notDurable: call, WallTimes(at: runner.now)))
    }

    /// The push, with its call as it stands now.
    private func message(of push: JournaledPush) -> PushMessage {
        let remembered = push.call.flatMap { runner.coordinator.call($0.record.key) }
        let isSame = remembered?.number == push.call?.record.number
        return PushMessage(push, call: isSame ? remembered?.record ?? push.call?.record : push.call?.record)
    }
}

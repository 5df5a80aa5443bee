import ControlProtocol
import RingwakeCore

/// Finds the app that a command means: by its bundle id, or by the first characters of it.
struct AppChoice {
    let client: ControlClient

    private var ids: ShortID<AppMessage> {
        ShortID(plural: "apps", heading: "Apps", namedCharacters: AppID.maximumBytes, id: \.app, details: { _ in "" })
    }

    /// Does `act` with the whole id of the app that `written` means.
    func use<Answer>(
        _ written: AppID, _ act: (String) throws(RingwakeError) -> Answer
    ) throws(RingwakeError) -> Answer {
        try ids.use(
            written.rawValue,
            { () throws(RingwakeError) in try act(written.rawValue) },
            list: { () throws(RingwakeError) in
                let list: AppListMessage = try client.get(RequestTarget("apps"))
                return list.apps
            },
            found: { (app) throws(RingwakeError) in try act(app.app) })
    }
}

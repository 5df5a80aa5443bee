package import RingwakeCore

extension HandlerWay {
    /// Checks whether a handler could be woken in this way, without waking it. `app add` and `--check-config` use it,
    /// so that a mistake shows before the first call.
    /// - Throws: ``RingwakeError/Code/badConfiguration``.
    package func check(of app: AppID) throws(RingwakeError) {
        switch self {
        case .exec(let command), .transientUnit(let command, _): try HandlerCommand.check(command, of: app)
        case .unit(let name, _): try UnitCheck.check(name, of: app)
        case .dbus(let name): try NameFailure.check(name, of: app)
        case .socket(let path): try SocketCheck.check(path, of: app)
        }
    }
}

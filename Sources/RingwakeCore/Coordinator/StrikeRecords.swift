/// The strikes against each app's handlers, and the apps whose handlers are no longer started.
struct StrikeRecords: Hashable, Sendable {
    private var records: [AppID: Record] = [:]

    private struct Record: Hashable, Sendable {
        /// The strikes that counted at the last one, the oldest first.
        var strikes: [Strike] = []
        var isStruckOut = false
    }

    /// The maximum number of strikes that are kept per app.
    private static let maximum = 64
    /// At least this many are kept for display, even if the limit is lower or off.
    private static let minimum = 8

    func strikes(of app: AppID) -> [Strike] { records[app]?.strikes ?? [] }

    /// Whether the app's handlers are no longer started, until the strikes are cleared.
    func isStruckOut(_ app: AppID) -> Bool { records[app]?.isStruckOut ?? false }

    /// Why the app's handlers are not started, for a person.
    func detail(of app: AppID) -> String {
        "its app's handler is not started any more after \(strikes(of: app).count) strikes; "
            + "'ringwake app clear-strikes \(app)' gives it another chance"
    }

    /// Adds a strike. Returns true if it strikes the app out.
    mutating func add(_ strike: Strike, of app: AppID, _ limit: StrikeLimit) -> Bool {
        var record = records.removeValue(forKey: app) ?? Record()
        defer { records[app] = record }
        let begin = strike.at.advanced(by: .zero - limit.window)
        record.strikes.removeAll { $0.at <= begin }
        record.strikes.append(strike)
        let kept = max(Self.minimum, min(limit.count, Self.maximum))
        if record.strikes.count > kept { record.strikes.removeFirst(record.strikes.count - kept) }
        guard !record.isStruckOut, limit.count > 0, record.strikes.count >= min(limit.count, Self.maximum) else {
            return false
        }
        record.isStruckOut = true
        return true
    }

    /// Restores the strikes of the daemon's last run, before those of this one.
    mutating func restore(_ strikes: [Strike], of app: AppID, isStruckOut: Bool) {
        guard !strikes.isEmpty || isStruckOut else { return }
        let present = records[app] ?? Record()
        records[app] = Record(
            strikes: (strikes + present.strikes).suffix(Self.maximum), isStruckOut: isStruckOut || present.isStruckOut)
    }

    /// - Returns: whether the app was struck out; nil if it had no strikes.
    mutating func clear(_ app: AppID) -> Bool? { records.removeValue(forKey: app)?.isStruckOut }
}

internal import ControlProtocol
package import RingwakeCore

/// What apps store with the daemon, and whether their handlers survive reading it.
///
///     none --put--> kept --a handler reads it--> being restored
///      ^             ^                             |  |  |
///      |             +--restored, exit status 0----+  |  |     no crashes in a row any more
///      |             +--stopped, lost-----------------+  |     as before
///      |             +--crashed--------------------------+     one more crash
///      +--the second crash in a row, a reset, removed, deleted
///
/// A handler *restores* from the time when it reads the state until it reports anything about a call, or says that it has
/// restored it. It *crashes* if it exits with another status than 0 or by a signal, and nobody had stopped or released it.
/// Handlers whose exit status nobody learns (a bus name, a socket, a connection of their own, and those that were started
/// by a daemon that is gone) neither crash nor succeed.
///
/// What holds: each crash is written to the journal at once. The next run of the daemon reads the count before it starts a
/// handler, so a crash before a `kill -9` of the daemon and one after it are two in a row.
package struct SavedStates: Sendable {
    /// How the restoration of an app's state went.
    package struct Record: Hashable, Sendable {
        /// Handlers that crashed while they restored it, since one succeeded.
        package var crashes: Int
        /// The last time that it was dropped; nil: never.
        package var drop: Drop?

        package init(crashes: Int = 0, drop: Drop? = nil) {
            self.crashes = crashes
            self.drop = drop
        }

        /// Whether there is nothing to store.
        package var isEmpty: Bool { crashes == 0 && drop == nil }
    }

    /// The daemon has dropped the state of an app.
    package struct Drop: Hashable, Sendable {
        /// Why a state is dropped.
        package enum Reason: String, Sendable, CaseIterable {
            /// The user forced the end of the app.
            case reset
            /// Its handler crashed while it restored it, twice in a row.
            case crashed
            /// The key of its protection class was deleted.
            case keyDeleted
        }

        package let reason: Reason
        /// The wall clock, in ms since 1970.
        package let at: Int64

        package init(_ reason: Reason, at time: Int64) {
            self.reason = reason
            at = time
        }
    }

    /// A handler crashes so often in a row while it restores a state; then this is dropped.
    package static let maximumCrashes = 2

    private var contents: [AppID: [UInt8]]
    private var records: [AppID: Record]
    /// Apps whose contents could not be read at the start, with the class that keeps from it.
    private var locked: [AppID: ProtectionClass]
    /// The handlers that restore, with their apps.
    private var restoring: [WakeID: AppID] = [:]

    package init(
        contents: [AppID: [UInt8]] = [:], records: [AppID: Record] = [:], locked: [AppID: ProtectionClass] = [:]
    ) {
        self.contents = contents
        self.locked = locked
        self.records = records
    }

    /// What the next run of the daemon knows of it.
    package var stored: SavedStates { SavedStates(contents: contents, records: records, locked: locked) }

    /// The class that has kept from reading the contents since the start; nil if they were read, or there are none.
    package func lock(of app: AppID) -> ProtectionClass? { locked[app] }

    /// What was locked has been read. What an app has stored meanwhile is newer.
    mutating func reveal(_ state: RevealedStates) {
        for (app, contents) in state.contents where locked.removeValue(forKey: app) != nil {
            self.contents[app] = contents
        }
        for app in state.lost { locked[app] = nil }
        for (app, record) in state.records where records[app] == nil { records[app] = record }
    }

    package subscript(app: AppID) -> [UInt8]? { contents[app] }

    package func record(of app: AppID) -> Record { records[app] ?? Record() }

    /// The state, which a handler that the daemon started restores from now on. Nil: nothing is stored.
    mutating func read(_ app: AppID, by wake: WakeID) -> [UInt8]? {
        guard let state = contents[app] else { return nil }
        restoring[wake] = app
        return state
    }

    /// The app's own contents have replaced it.
    mutating func set(_ state: [UInt8]?, of app: AppID) { (contents[app], locked[app]) = (state, nil) }

    /// A handler has shown that it works, or says that it has restored the state.
    ///
    /// - Parameter app: the app whose state it says to have restored; nil: it only works, which counts if it has read it.
    mutating func restored(by wake: WakeID, saying app: AppID? = nil, _ turn: inout Turn) {
        guard let app = restoring.removeValue(forKey: wake) ?? app, record(of: app).crashes > 0 else { return }
        records[app]?.crashes = 0
        turn.add(.storeRestoration(record(of: app), of: app))
    }

    /// A handler ended.
    ///
    /// - Parameter handler: it, before it ended; nil: unknown.
    mutating func handlerEnded(
        _ wake: WakeID, _ exit: HandlerExit, _ handler: HandlerLane.Handler?, _ streams: EventSubscriptions,
        _ turn: inout Turn
    ) {
        guard let app = restoring[wake] else { return }
        if exit == .exited(0) { return restored(by: wake, &turn) }
        restoring[wake] = nil
        if case .left = exit { return }
        guard let handler, !handler.isStopping, !handler.isReleased, contents[app] != nil else { return }
        records[app, default: Record()].crashes += 1
        guard record(of: app).crashes < Self.maximumCrashes else { return drop(app, .crashed, streams, &turn) }
        turn.add(.storeRestoration(record(of: app), of: app))
    }

    /// Drops the state of an app, on the disk with the next commit.
    mutating func drop(_ app: AppID, _ reason: Drop.Reason, _ streams: EventSubscriptions, _ turn: inout Turn) {
        forget(app)
        records[app] = Record(drop: Drop(reason, at: turn.host.wallMilliseconds()))
        turn.add(.dropState(of: app, record(of: app)))
        streams.publish(
            .stateDropped(.init(app: app.rawValue, reason: reason.rawValue)), to: .app(app), &turn)
    }

    /// The key that protects the states of all apps was deleted.
    mutating func dropAll(_ streams: EventSubscriptions, _ turn: inout Turn) {
        for app in Set(contents.keys).union(locked.keys).sorted(by: { $0.rawValue < $1.rawValue }) {
            drop(app, .keyDeleted, streams, &turn)
        }
    }

    /// The app was removed.
    mutating func forget(_ app: AppID) {
        (contents[app], records[app], locked[app]) = (nil, nil, nil)
        restoring = restoring.filter { $0.value != app }
    }
}

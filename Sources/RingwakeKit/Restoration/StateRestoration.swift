internal import ControlProtocol

/// Stores an app's objects with the daemon, over the end of the process, the daemon and the machine: UIKit's state
/// restoration.
///
///     let restoration = try StateRestoration(
///         client: client, classes: [.init("call", OpenCall.self), .init("settings", Settings.self)])
///     try await restoration.restore { objects in
///         settings = objects.object("settings") ?? Settings()
///         for (identifier, call) in objects.objects(of: OpenCall.self) { await resume(identifier, call) }
///         for object in objects.leftOut { log("not restored: \(object)") }
///     }
///     // Whenever something worth restoring changes:
///     try await restoration.save(["settings": settings, "call c1": call])
///
/// An object is stored under an identifier, with the name of its class. An object whose class or identifier is gone, or that
/// can't be decoded any more, is left out, and the rest is restored. So a new version of the app starts with what it still
/// understands.
///
/// If the process crashes while it restores, twice in a row, the daemon drops the state, and the app begins without:
/// what is stored must not keep the app from starting. The daemon counts crashes of the processes that it started, or that
/// systemd started for it. It also drops the state when the user forces the app's end (`ringwake app reset`) and when the app
/// is removed.
///
/// The app's file needs `state = true` in its section `[restoration]`. The objects may have 64 KiB of JSON in all.
public final class StateRestoration: Sendable {
    private let requests: DaemonRequests
    private let client: RingwakeClient
    private let classes: [RestorationClass]
    private let version: Int

    /// - Parameters:
    ///   - client: the app's connection to the daemon.
    ///   - classes: the classes whose objects are stored and restored.
    ///   - version: the version of the app's objects, which ``RestoredObjects/version`` returns later.
    /// - Throws: `invalidRequest` if two classes have one name or one type.
    public init(
        client: RingwakeClient, classes: [RestorationClass], version: Int = 1
    ) throws(RingwakeKitError) {
        guard Set(classes.map(\.name)).count == classes.count, Set(classes.map(\.type)).count == classes.count else {
            throw RingwakeKitError(.invalidRequest, "two classes have the same name, or the same type")
        }
        self.client = client
        self.classes = classes
        self.version = version
        requests = client.requests
    }

    /// Restores what was stored. `body` gets no objects if nothing was.
    ///
    /// A crash before `body` returns counts against the state. After that the daemon knows that the app gets on with it. A
    /// report about a call says the same. If `body` throws, nothing is said.
    ///
    /// - Parameters:
    ///   - isKnown: whether the app knows an identifier; the objects of others are left out.
    ///   - body: restores the objects. Do it here, and not in a task that outlives it.
    /// - Throws: the daemon's refusal: `notPermitted` if the app may not store anything. `badAnswer` if another program
    ///   stored something. What `body` throws.
    public func restore(
        knowing isKnown: (String) -> Bool = { _ in true }, _ body: (RestoredObjects) async throws -> Void
    ) async throws {
        let answer = try await requests.reply(to: RequestQueue.Request(.handler, "GET", target)).answer
        guard answer.status == 200 else {
            let error = RingwakeKitError(answer)
            guard error.code == .notFound else { throw error }
            return try await body(RestoredObjects())
        }
        try await body(try SavedDocument.decode(answer.body, classes, knowing: isKnown))
        let done = RequestQueue.Request(
            .handler, "POST", RequestTarget("apps", requests.app, "restored"), body: [], isRepeatable: true)
        do throws(RingwakeKitError) {
            let _: AppStateMessage = try await requests.answer(to: done)
        } catch {
            // A daemon of an earlier version counts nothing, and doesn't know this.
            guard error.code == .notFound else { throw error }
        }
    }

    /// Stores these objects, by identifier, in the place of all that were stored. Returns when they are durable.
    ///
    /// - Throws: `invalidRequest` if the type of an object is of no class; `limitReached` if they have more than 64 KiB;
    ///   `conflict` if the daemon is stopping this process; the daemon's other refusals.
    public func save(_ objects: [String: any Codable & Sendable]) async throws(RingwakeKitError) {
        let bytes = try SavedDocument.encode(objects, classes, version: version)
        let _: AppStateMessage = try await requests.answer(
            to: RequestQueue.Request(.handler, "PUT", target, body: bytes, isJSON: false, isRepeatable: true))
    }

    /// Deletes what was stored. Returns when that is durable.
    public func clear() async throws(RingwakeKitError) {
        let _: AppStateMessage = try await requests.answer(
            to: RequestQueue.Request(.handler, "DELETE", target, isRepeatable: true))
    }

    private var target: RequestTarget { RequestTarget("apps", requests.app, "state") }
}

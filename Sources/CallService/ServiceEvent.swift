package import ControlProtocol
package import RingwakeCore

/// Everything that can happen to the call service. Adapters report all results as events.
package enum ServiceEvent: Sendable {
    /// An event of calls, handlers or apps, for the coordinator.
    case calls(Event)
    /// A push listener has verified a push. The facts are what the listener knows about the call; nil: the payload has
    /// them. The answer is ``ServiceEffect/append(_:payloads:call:for:)`` or ``ServiceEffect/refuse(_:_:)``.
    case push(VerifiedPush, PushFacts?, RequestID)
    /// A client sent a request. The service answers it once, or forwards it with ``ServiceEffect/forward(_:)``.
    case request(ServiceRequest)
    /// A client closed its connection before the answer, or while reading a stream.
    case left(RequestID)
    /// At the start and after a reload: the settings that apply from now on.
    case configured(ServiceConfiguration)
    /// The owner removed an app and its stored state. An app that is only missing in the configuration may come back.
    case removed(AppID)
    /// At the start: the stored state of the last run, except its calls in progress.
    case restored(RestoredState)
    /// At the start: the handlers of an app's last run; those in `alive` still run. See
    /// ``Event/handlersRestored(_:_:alive:_:)``.
    case handlersRestored(AppID, [WakeID: RestoredHandler], alive: Set<WakeID>)
    /// The journal has an earlier call with this key: show this record instead.
    case recalled(CallRecord)
    /// The keys of protected data have changed: what can be read now.
    case protectionChanged(ProtectionState)
    /// The key of what apps have stored was deleted, so nobody can read it any more.
    case statesDeleted
    /// What apps had stored, which could not be read at the start, has been read.
    case statesRevealed(RevealedStates)
    /// The first cellular call of the device began, or the last one ended.
    case cellularChanged(isActive: Bool)
    /// The path to the network has changed.
    case pathChanged(PathMessage)
    /// Whether protected data can be read has changed, or will.
    case protectedDataChanged(ProtectedDataState)
    /// Another part of the daemon has an event for the streams.
    case published(EventMessage, Audience)
    /// The result of an effect is available.
    case resumed(Continuation)

    /// Continues a request with the result of an effect.
    package typealias Continuation = @Sendable (inout CallServiceStateMachine, inout Turn) -> Void
}

/// Identifies one request until it is answered or its stream ends. The driver assigns the number.
package struct RequestID: Hashable, Sendable {
    package let number: UInt64

    package init(number: UInt64) {
        self.number = number
    }
}

/// The stored state of the last run, except calls in progress and handlers.
package struct RestoredState: Sendable {
    /// The calls that ended last, the oldest first.
    package var recent: [CallRecord] = []
    /// Nil: none was stored.
    package var doNotDisturb: DoNotDisturb?
    /// What apps had stored.
    package var states = SavedStates()

    /// Higher than the number of every call of the last run, and of every handler of it that may still run.
    package var nextCallNumber: Int64
    package var nextWakeNumber: UInt64
    /// Whether the last run is known. False while the store cannot be opened: it comes later.
    package var isKnown: Bool

    package init(
        recent: [CallRecord] = [], doNotDisturb: DoNotDisturb? = nil, states: SavedStates = SavedStates(),
        nextCallNumber: Int64 = 1, nextWakeNumber: UInt64 = 1, isKnown: Bool = true
    ) {
        self.isKnown = isKnown
        self.nextCallNumber = nextCallNumber
        self.nextWakeNumber = nextWakeNumber
        self.recent = recent
        self.doNotDisturb = doNotDisturb
        self.states = states
    }
}

/// What was locked of the states of apps when the daemon started, and has been read since.
package struct RevealedStates: Sendable {
    package var contents: [AppID: [UInt8]]
    package var records: [AppID: SavedStates.Record]
    /// Apps whose contents can never be read.
    package var lost: Set<AppID>

    package init(contents: [AppID: [UInt8]], records: [AppID: SavedStates.Record], lost: Set<AppID> = []) {
        self.contents = contents
        self.records = records
        self.lost = lost
    }
}

/// The part of the configuration that the service uses.
package struct ServiceConfiguration: Sendable {
    /// One app.
    package struct App: Sendable {
        package var policy: AppPolicy
        package var mapping: PayloadMapping
        /// Its content rating; nil: allowed on every device.
        package var level: Int?
        package var limits: CallLimits
        /// Whether it may store state with the daemon.
        package var keepsState: Bool

        package init(
            policy: AppPolicy, mapping: PayloadMapping = PayloadMapping(), level: Int? = nil,
            limits: CallLimits = CallLimits(), keepsState: Bool = false
        ) {
            self.policy = policy
            self.mapping = mapping
            self.level = level
            self.limits = limits
            self.keepsState = keepsState
        }

        /// The facts in a push's payload, by the app's mapping.
        func facts(of push: VerifiedPush, _ turn: inout Turn) -> PushFacts {
            let read = mapping.facts(
                in: push.payload, receivedAt: push.receivedAt, wallClock: turn.host.wallMilliseconds())
            for problem in read.problems { turn.add(.payloadProblem(push, "\(problem)")) }
            return read.facts
        }
    }

    package var apps: [AppID: App]
    /// The highest content rating that an app may have; nil: any.
    package var allowedLevel: Int?
    /// What apps are told, and apply themselves.
    package var content: ContentRestrictions
    package var dialling: DiallingRules
    package var emergency: EmergencyNumbers
    /// Path of the control socket, for connected handlers.
    package var socketPath: String

    package init(
        apps: [AppID: App] = [:], allowedLevel: Int? = nil, content: ContentRestrictions = ContentRestrictions(),
        dialling: DiallingRules = .none, emergency: EmergencyNumbers = .standard, socketPath: String = ""
    ) {
        self.apps = apps
        self.allowedLevel = allowedLevel
        self.content = content
        self.dialling = dialling
        self.emergency = emergency
        self.socketPath = socketPath
    }
}

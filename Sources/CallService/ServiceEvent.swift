package import ControlProtocol
package import RingwakeCore

/// Everything that can happen to the call service. Adapters report their results as events and in no other way.
package enum ServiceEvent: Sendable {
    /// An event of calls, handlers or apps, for the coordinator.
    case calls(Event)
    /// A door has verified a push. The facts are what the door knows of the call; nil: the payload says them. Answered by ``ServiceEffect/append(_:payloads:call:for:)`` or
    /// ``ServiceEffect/refuse(_:_:)``.
    case push(VerifiedPush, PushFacts?, RequestID)
    /// A client sent a request. The service answers it once, or passes it on by ``ServiceEffect/forward(_:)``.
    case request(ServiceRequest)
    /// A client closed its connection before it was answered, or while it read a stream.
    case left(RequestID)
    /// At the start and after a reload: the settings that apply from now on.
    case configured(ServiceConfiguration)
    /// The owner removed an app, and what it keeps with the daemon. One that is only missing in the configuration may come
    /// back.
    case removed(AppID)
    /// At the start: what the last run left besides its calls.
    case restored(RestoredState)
    /// At the start: handlers of the last run, of an app with the policy that is configured; nil: its app is gone. Those
    /// named alive still run. See ``Event/handlersRestored(_:_:alive:_:)``.
    case handlersRestored(AppID, [WakeID: RestoredHandler], alive: Set<WakeID>)
    /// The journal has an earlier call of this name: this record is the one to show.
    case recalled(CallRecord)
    /// The first cellular call of the device began, or the last one ended.
    case cellularChanged(isActive: Bool)
    /// The path to the network is a different one.
    case pathChanged(PathMessage)
    /// Another part of the daemon has an event for the streams.
    case published(EventMessage, Audience)
    /// A request that the service made of its driver has a result.
    case resumed(Continuation)

    /// Goes on with a request when its result is there.
    package typealias Continuation = @Sendable (inout CallServiceStateMachine, inout Turn) -> Void
}

/// Names one request, until it is answered or its stream ends. The driver chooses the number.
package struct RequestID: Hashable, Sendable {
    package let number: UInt64

    package init(number: UInt64) {
        self.number = number
    }
}

/// What the last run left besides calls and handlers.
package struct RestoredState: Sendable {
    /// The last calls that ended, the oldest first.
    package var recent: [CallRecord] = []
    /// Nil: none was stored.
    package var doNotDisturb: DoNotDisturb?
    /// What each app keeps with the daemon.
    package var states: [AppID: [UInt8]] = [:]

    package init(recent: [CallRecord] = [], doNotDisturb: DoNotDisturb? = nil, states: [AppID: [UInt8]] = [:]) {
        self.recent = recent
        self.doNotDisturb = doNotDisturb
        self.states = states
    }
}

/// The part of the configuration that the service decides by.
package struct ServiceConfiguration: Sendable {
    /// One app.
    package struct App: Sendable {
        package var policy: AppPolicy
        package var mapping: PayloadMapping
        /// Its content rating; nil: allowed on every device.
        package var level: Int?
        package var limits: CallLimits
        /// Whether it may keep state with the daemon.
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

        /// What the payload of a push says, where the mapping looks for it.
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
    package var dialling: DiallingRules
    /// Path of the control socket, which connected handlers get.
    package var socketPath: String

    package init(
        apps: [AppID: App] = [:], allowedLevel: Int? = nil, dialling: DiallingRules = .none, socketPath: String = ""
    ) {
        self.apps = apps
        self.allowedLevel = allowedLevel
        self.dialling = dialling
        self.socketPath = socketPath
    }
}

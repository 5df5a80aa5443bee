internal import ControlProtocol
internal import RingwakeCore

/// The audio of calls: makes the events of each activation come once, and its end once before the next activation, over
/// any number of streams.
struct AudioActivations: Sendable {
    /// The activation that the app knows as active, by call.
    private var active: [Call.ID: Int] = [:]
    /// Those of them that the new stream has not reported yet.
    private var stale: Set<Call.ID> = []

    mutating func activated(_ event: EventMessage.AudioActivated) -> [CallEvent] {
        let call = Call.ID(rawValue: event.call)
        stale.remove(call)
        guard active[call] != event.activation else { return [] }
        let end = deactivate(call)
        active[call] = event.activation
        return end + [.audioActivated(call: call, AudioRoute(event.route))]
    }

    mutating func deactivated(_ event: EventMessage.AudioDeactivated) -> [CallEvent] {
        deactivate(Call.ID(rawValue: event.call))
    }

    mutating func failed(_ event: EventMessage.AudioFailed) -> [CallEvent] {
        let call = Call.ID(rawValue: event.call)
        // Codes of a later version are unspecified.
        let code = AudioSessionError.Code(rawValue: event.code) ?? .unspecified
        return deactivate(call) + [.audioFailed(call: call, AudioSessionError(code, event.message))]
    }

    mutating func routeChanged(_ event: EventMessage.AudioRouteChanged) -> [CallEvent] {
        let call = Call.ID(rawValue: event.call)
        stale.remove(call)
        guard active[call] != nil else { return [] }
        let reason = AudioRouteChangeReason(rawValue: event.changeReason) ?? .unknown
        return [
            .audioRouteChanged(
                call: call, reason, previous: AudioRoute(event.previous), current: AudioRoute(event.route))
        ]
    }

    /// A new stream reports the audio of calls in progress, and nothing about calls that have ended.
    mutating func beginStream(inProgress calls: Set<Call.ID>) -> [CallEvent] {
        stale = Set(active.keys)
        return stale.subtracting(calls).sorted { $0.rawValue < $1.rawValue }.flatMap { deactivate($0) }
    }

    /// The call ended. If that was between two streams, nothing more comes about its audio.
    mutating func ended(_ call: Call.ID) -> [CallEvent] {
        stale.contains(call) ? deactivate(call) : []
    }

    private mutating func deactivate(_ call: Call.ID) -> [CallEvent] {
        stale.remove(call)
        return active.removeValue(forKey: call) == nil ? [] : [.audioDeactivated(call: call)]
    }
}

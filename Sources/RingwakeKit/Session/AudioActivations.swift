internal import ControlProtocol
internal import RingwakeCore

/// Audio activations of calls, over any number of streams. Publishes each activation once, and its end once, before
/// the next activation.
struct AudioActivations: Sendable {
    /// Activations that the app was notified of, by call.
    private var active: [Call.ID: Int] = [:]
    /// Active calls that the new stream hasn't reported yet.
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
        // A later version may send codes that are unknown here.
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

    /// The call ended. If it ended between two streams, no stream reports the end of its audio.
    mutating func ended(_ call: Call.ID) -> [CallEvent] {
        stale.contains(call) ? deactivate(call) : []
    }

    private mutating func deactivate(_ call: Call.ID) -> [CallEvent] {
        stale.remove(call)
        return active.removeValue(forKey: call) == nil ? [] : [.audioDeactivated(call: call)]
    }
}

internal import RingwakeCore

// The audio of calls: told as active once for each activation, and as over once before the next, over any number of
// streams.
extension SessionStateMachine {
    mutating func take(_ line: StreamLine.AudioLine) -> [Effect] {
        staleAudio.remove(line.call)
        let former = activeAudio[line.call]
        switch line.change {
        case .activated(let route):
            guard former != line.activation else { return [] }
            activeAudio[line.call] = line.activation
            return over(line.call, former) + [.tellCall(.audioActivated(call: line.call, route))]
        case .deactivated:
            activeAudio[line.call] = nil
            return over(line.call, former)
        case .failed(let error):
            activeAudio[line.call] = nil
            return over(line.call, former) + [.tellCall(.audioFailed(call: line.call, error))]
        case .routeChanged(let reason, let previous, let current):
            guard former != nil else { return [] }
            return [.tellCall(.audioRouteChanged(call: line.call, reason, previous: previous, current: current))]
        }
    }

    /// A new stream tells how the audio of calls stands that go on; of those that are over it tells nothing more.
    mutating func beginAudio() -> [Effect] {
        staleAudio = Set(activeAudio.keys)
        return activeAudio.keys.filter { calls[$0] == nil }.sorted().flatMap { endStaleAudio(of: $0) }
    }

    /// The call ended while nobody listened, and its audio with it.
    mutating func endStaleAudio(of call: String) -> [Effect] {
        guard staleAudio.remove(call) != nil else { return [] }
        return over(call, activeAudio.removeValue(forKey: call))
    }

    private func over(_ call: String, _ activation: Int?) -> [Effect] {
        activation == nil ? [] : [.tellCall(.audioDeactivated(call: call))]
    }
}

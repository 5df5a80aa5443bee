internal import ControlProtocol
internal import RingwakeCore

// What was told to have ended must not ring again after a kill: the end of a call is told when it is on the disk.
extension EffectRunner {
    /// Tells whoever listens to the call, in the order of what happened to it.
    func publish(_ event: @autoclosure () -> EventMessage, of key: CallKey) {
        guard heldBack[key] != nil else { return events.publish(event(), of: key) }
        heldBack[key]?.append(event())
    }

    /// The call has ended: what is told of it from here on waits for the disk. One that fails or hangs holds nobody up for
    /// long.
    func holdBack(_ key: CallKey) {
        guard events.isHeard, heldBack[key] == nil else { return }
        heldBack[key] = []
        reader.whenDurable { [weak self] in self?.letGo(key) }
    }

    private func letGo(_ key: CallKey) {
        for event in heldBack.removeValue(forKey: key) ?? [] { events.publish(event, of: key) }
    }
}

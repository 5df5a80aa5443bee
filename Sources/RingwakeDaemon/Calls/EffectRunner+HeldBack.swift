internal import ControlProtocol
internal import RingwakeCore

// Some things are told when they are on the disk. What was told to have ended must not ring again after a kill; and a
// handler must not have answered a call that the daemon, killed and started again, lets ring.
extension EffectRunner {
    /// What is to be told of a call, in order, and how many answers of the journal it waits for.
    struct HeldBack {
        var events: [EventMessage] = []
        var open = 0
    }

    /// Tells whoever listens to the call, in the order of what happened to it.
    func publish(_ event: @autoclosure () -> EventMessage, of key: CallKey) {
        guard heldBack[key] != nil else { return events.publish(event(), of: key) }
        heldBack[key]?.events.append(event())
    }

    /// What is told of the call from here on waits for the disk to have what was handed in until now. One that fails or
    /// hangs holds nobody up for long.
    func holdBack(_ key: CallKey) {
        guard events.isHeard else { return }
        heldBack[key, default: HeldBack()].open += 1
        reader.whenDurable { [weak self] in self?.letGo(key) }
    }

    private func letGo(_ key: CallKey) {
        heldBack[key]?.open -= 1
        guard let held = heldBack[key], held.open == 0 else { return }
        heldBack[key] = nil
        for event in held.events { events.publish(event, of: key) }
    }
}

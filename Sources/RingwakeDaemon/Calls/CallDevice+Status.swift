internal import ControlProtocol
internal import DBus
internal import DeviceServices

// The status of the device.
extension CallDevice {
    func awakeStatus() -> StatusMessage.Awake {
        let status = keeper.status
        return StatusMessage.Awake(needed: keeper.isNeeded, by: status.holder?.rawValue ?? "none", why: status.why)
    }

    func ringStatus() -> StatusMessage.Ring {
        let failures = AlertFailure.Part.allCases.compactMap { part in
            alerts.failures[part].map { "\(part.rawValue): \($0)" }
        }
        return StatusMessage.Ring(
            ringing: alerts.calls.count,
            why: failures.isEmpty ? nil : failures.joined(separator: "; "))
    }

    func cellularStatus() -> StatusMessage.Cellular {
        let status = cellular.status
        return StatusMessage.Cellular(
            state: status.isServicePresent ? "watching" : "unavailable", active: status.isCallActive, why: status.why)
    }
}

extension Buses {
    /// The status of the buses in use.
    func status() -> [String: StatusMessage.Bus] {
        var buses: [String: StatusMessage.Bus] = [:]
        for (name, service) in [("system", system), ("session", session)] {
            switch service.status {
            case .unused, .closed: break
            case .opening: buses[name] = StatusMessage.Bus(state: "unavailable", why: "it is being connected to")
            case .open: buses[name] = StatusMessage.Bus(state: "connected")
            case .lost(let error): buses[name] = StatusMessage.Bus(state: "unavailable", why: "\(error)")
            }
        }
        return buses
    }
}

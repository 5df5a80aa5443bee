package import ControlProtocol
import Reachability
import RunLoop

extension FacilityMessage {
    /// Tries every facility once, with this process's rights.
    package static func probe() -> [FacilityMessage] {
        (Facility.probe() + Facility.probeNetlink()).map { FacilityMessage($0) }
    }
}

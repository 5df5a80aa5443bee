internal import ControlProtocol
internal import FileSystem
internal import Reachability

/// Whether a network device may wake this machine from suspend, as the kernel says (Documentation/ABI/testing/sysfs-devices-power).
/// Whether it does for a certain packet only its driver knows.
struct NetworkWakeup: Equatable {
    let interface: String
    let state: LinkMessage.Wakeup.State
    /// Where the kernel says it; nil if it says nothing.
    let file: String?

    /// - Parameter kernel: where sysfs is.
    init(of interface: NetworkInterface, kernel: String = "/sys") {
        self.interface = interface.name
        let link = "\(kernel)/class/net/\(interface.name)"
        guard !interface.name.utf8.contains(UInt8(ascii: "/")), interface.name != ".", interface.name != "..",
            // /sys may be that of another network namespace, with other devices of the same names.
            Self.lines(of: "\(link)/uevent").contains("IFINDEX=\(interface.index)")
        else {
            (state, file) = (.unknown, nil)
            return
        }
        // On USB the functions of a device don't wake, but the device above them.
        let isFunction = Self.lines(of: "\(link)/device/uevent").contains("DEVTYPE=usb_interface")
        let file = "\(link)/device/\(isFunction ? "../" : "")power/wakeup"
        switch Self.lines(of: file).first {
        case "enabled": (state, self.file) = (.enabled, file)
        case "disabled": (state, self.file) = (.disabled, file)
        default: (state, self.file) = (.unknown, nil)
        }
    }

    /// The lines of an attribute; none if it isn't there, as with every device that can't wake.
    private static func lines(of path: String) -> [Substring] {
        guard let bytes = try? FileSystem.read(path, maximumSize: 4096) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}

import ControlProtocol
import FileSystem
import Glibc
import Reachability
import Testing

@testable import RingwakeDaemon

/// With a sysfs of its own: this machine's has no device that can wake it.
@MainActor @Suite("Whether a network device can wake the machine") struct NetworkWakeupTests {
    private let kernel = "/tmp/ringwake-test-sys-\(getpid())-\(UInt32.random(in: 0 ... .max))"

    private func make(_ files: [String: String], links: [String: String]) throws {
        for (path, text) in files {
            let parts = path.split(separator: "/")
            for count in 0..<parts.count {
                let folder = ([kernel] + parts.prefix(count).map(String.init)).joined(separator: "/")
                if !FileSystem.exists(folder) { try FileSystem.createDirectory(folder, mode: 0o755) }
            }
            try FileSystem.replace("\(kernel)/\(path)", with: Array(text.utf8), mode: 0o644)
        }
        for (path, target) in links { try #require(symlink(target, "\(kernel)/\(path)") == 0) }
    }

    private func wakeup(_ name: String, index: UInt32 = 3) -> NetworkWakeup {
        NetworkWakeup(of: NetworkInterface(index: index, name: name, type: .wifi), kernel: kernel)
    }

    @Test("A card says whether it may; a function of a USB device leaves it to the device above")
    func devices() throws {
        try make(
            [
                "devices/pci/card/power/wakeup": "disabled\n", "devices/pci/card/uevent": "DRIVER=iwlwifi\n",
                "devices/usb/1-2/power/wakeup": "enabled\n",
                "devices/usb/1-2/1-2:1.4/uevent": "DEVTYPE=usb_interface\nDRIVER=qmi_wwan\n",
                "devices/pci/other/power/wakeup": "\n", "class/net/wlan0/uevent": "INTERFACE=wlan0\nIFINDEX=3\n",
                "class/net/wwan0/uevent": "IFINDEX=3\n", "class/net/eth0/uevent": "IFINDEX=3\n",
                "class/net/veth0/uevent": "IFINDEX=3\n",
            ],
            links: [
                "class/net/wlan0/device": "../../../devices/pci/card",
                "class/net/wwan0/device": "../../../devices/usb/1-2/1-2:1.4",
                "class/net/eth0/device": "../../../devices/pci/other",
            ])
        defer { try? FileSystem.removeTree(kernel) }
        #expect(wakeup("wlan0").state == .disabled)
        #expect(wakeup("wlan0").file == "\(kernel)/class/net/wlan0/device/power/wakeup")
        #expect(wakeup("wwan0").state == .enabled)
        #expect(wakeup("wwan0").file == "\(kernel)/class/net/wwan0/device/../power/wakeup")
        for name in ["eth0", "veth0", "none", "..", "a/b"] {
            #expect(wakeup(name).state == .unknown && wakeup(name).file == nil, "\(name)")
        }
        #expect(wakeup("wlan0", index: 4).state == .unknown, "a device of another namespace")
    }
}

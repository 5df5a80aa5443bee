internal import CRingwakePulse
internal import RingwakeCore

/// Classifies a connector by what the server reports: the port's type, which PulseAudio has since 14 and PipeWire for
/// devices that ALSA knows; its name; and the properties of its device and card.
struct PortClassification {
    /// The properties of the device, then of its card.
    let properties: [[String: String]]
    /// The card's active profile.
    let activeProfile: String?

    func kind(type: UInt32, name: String, isInput: Bool) -> AudioPort.Kind {
        if isBluetooth(type: type) { return bluetoothKind }
        if let kind = Self.kind(ofType: type, isInput: isInput) { return kind }
        if let kind = Self.kind(ofName: name, isInput: isInput) { return kind }
        return kind(isInput: isInput)
    }

    /// The kind by the properties of the device alone.
    func kind(isInput: Bool) -> AudioPort.Kind {
        if isBluetooth(type: PA_DEVICE_PORT_TYPE_UNKNOWN.rawValue) { return bluetoothKind }
        switch property("device.form_factor") {
        case "internal": return isInput ? .builtInMicrophone : .builtInSpeaker
        case "speaker" where isUSB, "headset" where isUSB, "headphone" where isUSB: return .usb
        case "speaker": return .builtInSpeaker
        case "handset": return isInput ? .builtInMicrophone : .builtInReceiver
        case "headset", "hands-free": return .headset
        case "headphone": return isInput ? .headset : .headphones
        case "microphone": return isUSB ? .usb : .builtInMicrophone
        case "tv": return .hdmi
        default: return isUSB ? .usb : .other
        }
    }

    private func property(_ key: String) -> String? {
        properties.lazy.compactMap { $0[key] }.first
    }

    private var isUSB: Bool { property("device.bus") == "usb" }

    private func isBluetooth(type: UInt32) -> Bool {
        type == PA_DEVICE_PORT_TYPE_BLUETOOTH.rawValue || property("device.bus") == "bluetooth"
            || property("device.api")?.hasPrefix("bluez") == true
    }

    /// Hands-free if the current profile of the device is; without a profile, it is a device for music.
    private var bluetoothKind: AudioPort.Kind {
        let profile = property("api.bluez5.profile") ?? property("bluetooth.protocol") ?? activeProfile ?? ""
        let isHandsFree = ["headset", "handsfree", "hfp", "hsp"].contains { profile.contains($0) }
        return isHandsFree && !profile.contains("a2dp") ? .bluetoothHFP : .bluetoothA2DP
    }

    private static func kind(ofType type: UInt32, isInput: Bool) -> AudioPort.Kind? {
        switch pa_device_port_type(rawValue: type) {
        case PA_DEVICE_PORT_TYPE_EARPIECE: .builtInReceiver
        case PA_DEVICE_PORT_TYPE_HANDSET: isInput ? .builtInMicrophone : .builtInReceiver
        case PA_DEVICE_PORT_TYPE_SPEAKER: .builtInSpeaker
        case PA_DEVICE_PORT_TYPE_HEADPHONES: .headphones
        case PA_DEVICE_PORT_TYPE_HEADSET, PA_DEVICE_PORT_TYPE_HANDSFREE, PA_DEVICE_PORT_TYPE_PORTABLE: .headset
        case PA_DEVICE_PORT_TYPE_MIC: .builtInMicrophone
        case PA_DEVICE_PORT_TYPE_LINE, PA_DEVICE_PORT_TYPE_AUX, PA_DEVICE_PORT_TYPE_SPDIF: isInput ? .lineIn : .lineOut
        case PA_DEVICE_PORT_TYPE_HDMI, PA_DEVICE_PORT_TYPE_TV: .hdmi
        case PA_DEVICE_PORT_TYPE_USB: .usb
        default: nil
        }
    }

    /// By the names of PulseAudio's mixer paths (`analog-output-headphones`), and those of ALSA's use case manager
    /// (`[Out] Earpiece`), in this order: the first that the name contains decides.
    private static func kind(ofName name: String, isInput: Bool) -> AudioPort.Kind? {
        let name = name.lowercased()
        let outputs: [(String, AudioPort.Kind)] = [
            ("earpiece", .builtInReceiver), ("handset", .builtInReceiver), ("headphone", .headphones),
            ("headset", .headset), ("speaker", .builtInSpeaker), ("hdmi", .hdmi), ("displayport", .hdmi),
            ("lineout", .lineOut), ("line-out", .lineOut), ("line", .lineOut), ("iec958", .lineOut),
            ("spdif", .lineOut), ("usb", .usb),
        ]
        let inputs: [(String, AudioPort.Kind)] = [
            ("headset", .headset), ("headphone", .headset), ("linein", .lineIn), ("line", .lineIn),
            ("aux", .lineIn), ("iec958", .lineIn), ("spdif", .lineIn), ("usb", .usb), ("mic", .builtInMicrophone),
        ]
        return (isInput ? inputs : outputs).first { name.contains($0.0) }?.1
    }
}

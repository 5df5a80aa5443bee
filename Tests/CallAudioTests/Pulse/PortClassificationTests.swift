import RingwakeCore
import Testing

@testable import CallAudio

/// What a connector is, by what servers say of it.
struct PortClassificationTests {
    struct Case: CustomTestStringConvertible {
        var type: UInt32 = 0
        var name = ""
        var isInput = false
        var properties: [String: String] = [:]
        var profile: String?
        let kind: AudioPort.Kind

        var testDescription: String { "\(type) \(name) \(isInput ? "in" : "out") \(properties) \(profile ?? "")" }
    }

    @Test(
        "By type, then by name, then by the device; Bluetooth by the profile in force",
        arguments: [
            // Types of `pa_device_port_type`.
            Case(type: 2, name: "analog-output-speaker", kind: .builtInSpeaker),
            Case(type: 3, name: "analog-output-headphones", kind: .headphones),
            Case(type: 5, name: "analog-input-internal-mic", isInput: true, kind: .builtInMicrophone),
            Case(type: 6, isInput: true, kind: .headset),
            Case(type: 8, name: "[Out] Earpiece", kind: .builtInReceiver),
            Case(type: 4, isInput: true, kind: .lineIn), Case(type: 4, kind: .lineOut),
            Case(type: 10, kind: .hdmi), Case(type: 14, kind: .usb),
            // Names alone, as PipeWire gives them for much.
            Case(name: "[Out] Earpiece", kind: .builtInReceiver),
            Case(name: "[Out] Speaker", kind: .builtInSpeaker),
            Case(name: "analog-output-headphones", kind: .headphones),
            Case(name: "[In] Headset", isInput: true, kind: .headset),
            Case(name: "analog-input-internal-mic", isInput: true, kind: .builtInMicrophone),
            Case(name: "analog-input-linein", isInput: true, kind: .lineIn),
            Case(name: "hdmi-output-0", kind: .hdmi),
            Case(name: "unknown-output", kind: .other),
            // Bluetooth.
            Case(
                type: 6, name: "headset-output", properties: ["device.api": "bluez"], profile: "a2dp_sink",
                kind: .bluetoothA2DP),
            Case(
                type: 6, name: "headset-output", properties: ["device.bus": "bluetooth"], profile: "headset-head-unit",
                kind: .bluetoothHFP),
            Case(
                name: "headset-hf",
                properties: ["device.api": "bluez5", "api.bluez5.profile": "headset-head-unit-cvsd"],
                profile: "a2dp-sink", kind: .bluetoothHFP),
            Case(
                name: "headset-input", isInput: true, properties: ["device.api": "bluez5"],
                profile: "handsfree_head_unit", kind: .bluetoothHFP),
            Case(type: 15, kind: .bluetoothA2DP),
        ])
    func port(one: Case) {
        let classification = PortClassification(properties: [one.properties], activeProfile: one.profile)
        #expect(classification.kind(type: one.type, name: one.name, isInput: one.isInput) == one.kind)
    }

    @Test("Without a port, the device tells, or nothing does")
    func device() {
        func kind(_ properties: [String: String], isInput: Bool = false) -> AudioPort.Kind {
            PortClassification(properties: [properties], activeProfile: nil).kind(isInput: isInput)
        }
        #expect(kind([:]) == .other)
        #expect(kind(["device.bus": "usb"]) == .usb)
        #expect(kind(["device.bus": "usb", "device.form_factor": "headset"]) == .usb)
        #expect(kind(["device.form_factor": "internal"], isInput: true) == .builtInMicrophone)
        #expect(kind(["device.form_factor": "handset"]) == .builtInReceiver)
        #expect(kind(["device.form_factor": "headphone"]) == .headphones)
        #expect(kind(["device.api": "bluez5", "api.bluez5.profile": "headset-head-unit"]) == .bluetoothHFP)
    }
}

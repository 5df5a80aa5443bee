internal import RingwakeCore

/// An output or input that can be used.
struct RouteCandidate: Hashable {
    var port: AudioPort
    var card: UInt32?
    var availability: AudioServerImage.Availability
    /// It is the active port of its device, or the device has none.
    var isActive: Bool
    /// The device has no jack: a USB headset is plugged in as a whole or not at all.
    var isWhole: Bool
    /// The card must be switched to this profile first; ``port`` then names the card.
    var profile: String?

    /// Worn or held by one person: a call uses it without a choice. A headset that is not plugged into its jack shows
    /// `unknown` or `no` there.
    var isPersonal: Bool {
        switch port.kind {
        case .headphones, .headset: availability == .yes || isWhole
        case .bluetoothA2DP, .bluetoothHFP: true
        default: false
        }
    }
}

extension AudioServerImage {
    /// All outputs that can be used, in the order of the server's indexes.
    var outputCandidates: [RouteCandidate] {
        sinks.values.sorted { $0.index < $1.index }.flatMap { candidates(of: $0, isInput: false) }
    }

    /// Whether a name stands for an output: a sink, a Bluetooth device that can be a headset, or a kind of port,
    /// present or not.
    func hasOutput(_ name: String) -> Bool {
        sink(named: name) != nil || AudioPort.Kind(rawValue: name)?.isOutput == true
            || cards.values.contains { $0.name == name && $0.isBluetoothCard && $0.handsFreeProfile != nil }
    }

    /// All inputs that can be used, without monitors of sinks.
    var inputCandidates: [RouteCandidate] {
        sources.values.filter { $0.monitors == nil }.sorted { $0.index < $1.index }
            .flatMap { candidates(of: $0, isInput: true) }
    }

    private func candidates(of device: Device, isInput: Bool) -> [RouteCandidate] {
        guard !device.ports.isEmpty else {
            let port = AudioPort(kind: device.portlessKind(isInput: isInput), device: device.name, name: device.title)
            return [
                RouteCandidate(
                    port: port, card: device.card, availability: .unknown, isActive: true, isWhole: true)
            ]
        }
        return device.ports.filter { $0.availability != .no || $0.name == device.activePort }
            .map { port in
                RouteCandidate(
                    port: AudioPort(
                        kind: port.kind, device: device.name, port: port.name,
                        name: port.description.isEmpty ? device.title : port.description),
                    card: device.card, availability: port.availability, isActive: port.name == device.activePort,
                    isWhole: device.properties["device.bus"] == "usb")
            }
    }

    /// Whether a Bluetooth card has a profile that plays but no sink yet: the sink appears a moment later.
    var isDeviceComing: Bool {
        cards.values.contains { card in
            card.isBluetoothCard && card.profiles.contains { $0.name == card.activeProfile && $0.sinks > 0 }
                && !sinks.values.contains { $0.card == card.index }
        }
    }

    /// Bluetooth devices that could be a headset with another profile.
    func handsFreeCandidates(without refused: Set<String>) -> [RouteCandidate] {
        cards.values.sorted { $0.index < $1.index }.compactMap { card in
            guard card.isBluetoothCard, !refused.contains(card.name), let profile = card.handsFreeProfile else {
                return nil
            }
            // With that profile in force, its sink appears a moment later, as a device of its own.
            if HandsFreeProfile.isOne(card.activeProfile ?? ""), sinks.values.contains(where: { $0.card == card.index })
            {
                return nil
            }
            return RouteCandidate(
                port: AudioPort(
                    kind: .bluetoothHFP, device: card.name,
                    name: card.properties["device.description"] ?? card.name),
                card: card.index, availability: .yes, isActive: false, isWhole: true, profile: profile)
        }
    }
}

extension AudioServerImage.Card {
    var isBluetoothCard: Bool {
        properties["device.bus"] == "bluetooth" || properties["device.api"]?.hasPrefix("bluez") == true
            || name.hasPrefix("bluez_card.")
    }

    /// The active one, or the best of its profiles that record.
    var handsFreeProfile: String? {
        if let activeProfile, HandsFreeProfile.isOne(activeProfile) { return activeProfile }
        return profiles.filter { HandsFreeProfile.isOne($0.name) && $0.isAvailable }
            .max { $0.priority < $1.priority }?.name
    }
}

extension AudioServerImage.Device {
    var title: String { description.isEmpty ? name : description }

    /// The kind of a device without ports, by its properties.
    func portlessKind(isInput: Bool) -> AudioPort.Kind {
        let isBluetooth =
            properties["device.bus"] == "bluetooth" || properties["device.api"]?.hasPrefix("bluez") == true
        let profile = properties["bluetooth.protocol"] ?? properties["api.bluez5.profile"] ?? ""
        if isBluetooth { return profile.hasPrefix("a2dp") ? .bluetoothA2DP : .bluetoothHFP }
        switch properties["device.form_factor"] {
        case "headset", "hands-free": return .headset
        case "headphone": return isInput ? .headset : .headphones
        case "handset": return isInput ? .builtInMicrophone : .builtInReceiver
        case "internal": return isInput ? .builtInMicrophone : .builtInSpeaker
        default: break
        }
        return properties["device.bus"] == "usb" ? .usb : .other
    }
}

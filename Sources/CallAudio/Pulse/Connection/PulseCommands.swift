internal import CRingwakePulse

// The commands to a server.
extension PulseConnection {
    /// Sends one command.
    ///
    /// - Parameters:
    ///   - image: it tells how many channels a stream has.
    ///   - completion: called with the failure; nil if the server acknowledged the command.
    func perform(_ command: AudioServerCommand, image: AudioServerImage, completion: @escaping Completion) {
        if let problem = command.problem(image) {
            return request(command.text, completion: { _ in completion(problem) }) { _, _ in nil }
        }
        request(command.text, completion: completion) { context, data in
            let done: pa_context_success_cb_t = { PulseRequest.acknowledged($2, $1) }
            switch command {
            case .set(let target, let value): return Self.set(target, value, image, context, done, data)
            case .store(let stored): return Self.store(stored, context, done, data)
            case .forget(let stored):
                return stored.withCString { name in
                    var names: [UnsafePointer<CChar>?] = [name, nil]
                    return pa_ext_stream_restore_delete(context, &names, done, data)
                }
            }
        }
    }

    private static func set(
        _ target: EffectTarget, _ value: EffectValue, _ image: AudioServerImage, _ context: OpaquePointer,
        _ done: @escaping pa_context_success_cb_t, _ data: UnsafeMutableRawPointer
    ) -> OpaquePointer? {
        switch (target, value) {
        case (.playingVolume(let stream), .volume(let volume)):
            var volume = cvolume(volume, channels: image.playing[stream]?.volume.count)
            return pa_context_set_sink_input_volume(context, stream, &volume, done, data)
        case (.playingMute(let stream), .muted(let mute)):
            return pa_context_set_sink_input_mute(context, stream, mute ? 1 : 0, done, data)
        case (.recordingMute(let stream), .muted(let mute)):
            return pa_context_set_source_output_mute(context, stream, mute ? 1 : 0, done, data)
        case (.sourceMute(let source), .muted(let mute)):
            return pa_context_set_source_mute_by_name(context, source, mute ? 1 : 0, done, data)
        case (_, .name(let name)):
            switch target {
            case .playingDevice(let stream):
                return pa_context_move_sink_input_by_name(context, stream, name, done, data)
            case .recordingDevice(let stream):
                return pa_context_move_source_output_by_name(context, stream, name, done, data)
            case .profile(let card): return pa_context_set_card_profile_by_name(context, card, name, done, data)
            case .sinkPort(let sink): return pa_context_set_sink_port_by_name(context, sink, name, done, data)
            case .sourcePort(let source): return pa_context_set_source_port_by_name(context, source, name, done, data)
            case .defaultSink: return pa_context_set_default_sink(context, name, done, data)
            case .defaultSource: return pa_context_set_default_source(context, name, done, data)
            default: return nil
            }
        default: return nil
        }
    }

    /// Stores values for the next stream of the kind: existing streams keep theirs.
    private static func store(
        _ stored: StoredStream, _ context: OpaquePointer, _ done: @escaping pa_context_success_cb_t,
        _ data: UnsafeMutableRawPointer
    ) -> OpaquePointer? {
        var info = pa_ext_stream_restore_info()
        info.mute = stored.isMuted ? 1 : 0
        info.volume = cvolume(stored.volume, channels: nil)
        pa_channel_map_init(&info.channel_map)
        info.channel_map.channels = UInt8(stored.volume.count)
        withUnsafeMutableBytes(of: &info.channel_map.map) { bytes in
            let positions = bytes.bindMemory(to: pa_channel_position_t.self)
            for (index, position) in stored.channels.prefix(positions.count).enumerated() {
                positions[index] = pa_channel_position_t(rawValue: position)
            }
        }
        func write() -> OpaquePointer? {
            pa_ext_stream_restore_write(context, PA_UPDATE_REPLACE, &info, 1, 0, done, data)
        }
        return stored.name.withCString { name in
            info.name = name
            guard let device = stored.device else { return write() }
            return device.withCString { device in
                info.device = device
                return write()
            }
        }
    }

    /// - Parameter channels: the number of channels to which a single value is spread; nil: one.
    private static func cvolume(_ values: [UInt32], channels: Int?) -> pa_cvolume {
        var volume = pa_cvolume()
        let values = values.count == 1 ? Array(repeating: values[0], count: max(1, channels ?? 1)) : values
        withUnsafeMutableBytes(of: &volume.values) { bytes in
            let slots = bytes.bindMemory(to: pa_volume_t.self)
            for (index, value) in values.prefix(slots.count).enumerated() { slots[index] = value }
            volume.channels = UInt8(min(values.count, slots.count))
        }
        return volume
    }
}

extension AudioServerCommand {
    /// `PA_CHANNELS_MAX` and `PA_VOLUME_MAX`, macros with casts.
    private static let maximumChannels = 32
    private static let maximumVolume = UInt32.max / 2

    /// Why the command can't be sent: libpulse would assert, or cut a text at a NUL. Nil if it can.
    fileprivate func problem(_ image: AudioServerImage) -> AudioServerFailure? {
        let names: [String?]
        switch self {
        case .set(let target, .name(let name)): names = [target.device, name]
        case .set(let target, _): names = [target.device]
        case .store(let stored): names = [stored.name, stored.device]
        case .forget(let stored): names = [stored]
        }
        if names.contains(where: { $0.map { $0.utf8.contains(0) || $0.utf8.count > PulseText.maximumBytes } ?? false })
        {
            return AudioServerFailure(.refused, "a name holds a NUL or more than \(PulseText.maximumBytes) bytes")
        }
        switch self {
        case .set(.playingVolume(let stream), .volume(let volume)):
            guard let channels = image.playing[stream]?.volume.count else {
                return AudioServerFailure(.notFound, "\(text): no such stream")
            }
            return problem(volume, channels: volume.count == 1 ? 1 : channels)
        case .store(let stored):
            return stored.volume.isEmpty ? nil : problem(stored.volume, channels: stored.channels.count)
        default: return nil
        }
    }

    private func problem(_ volume: [UInt32], channels: Int) -> AudioServerFailure? {
        guard (1...Self.maximumChannels).contains(volume.count) else {
            return AudioServerFailure(.refused, "a volume has 1 to \(Self.maximumChannels) channels")
        }
        guard volume.allSatisfy({ $0 <= Self.maximumVolume }) else {
            return AudioServerFailure(.refused, "a volume is at most \(Self.maximumVolume)")
        }
        guard volume.count == channels else {
            return AudioServerFailure(.refused, "\(text): \(volume.count) volumes for \(channels) channels")
        }
        return nil
    }

    /// What it does, for messages.
    var text: String {
        switch self {
        case .set(let target, let value): "setting \(target) to \(value)"
        case .store(let stored): "storing \(stored.name)"
        case .forget(let stored): "forgetting \(stored)"
        }
    }
}

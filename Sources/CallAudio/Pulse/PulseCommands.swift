internal import CRingwakePulse

// The changes that are asked of a server.
extension PulseConnection {
    /// Sends one command.
    ///
    /// - Parameters:
    ///   - image: What is known of the server: how many channels a stream has.
    ///   - completion: Its failure, nil where the server acknowledged it.
    func perform(
        _ command: AudioServerCommand, image: AudioServerImage,
        completion: @escaping (AudioServerFailure?) -> Void
    ) {
        if let problem = command.problem(image) {
            return request(command.text, completion: { _ in completion(problem) }) { _, _ in nil }
        }
        request(command.text, completion: completion) { context, userdata in
            Self.start(command, image, context, userdata)
        }
    }

    private static func start(
        _ command: AudioServerCommand, _ image: AudioServerImage, _ context: OpaquePointer,
        _ userdata: UnsafeMutableRawPointer
    ) -> OpaquePointer? {
        let done: pa_context_success_cb_t = { _, success, userdata in PulseRequest.acknowledged(userdata, success) }
        switch command {
        case .setPlayingVolume(let stream, let volume):
            var volume = cvolume(volume, channels: image.playing[stream]?.volume.count)
            return pa_context_set_sink_input_volume(context, stream, &volume, done, userdata)
        case .mutePlaying(let stream, let isMuted):
            return pa_context_set_sink_input_mute(context, stream, isMuted ? 1 : 0, done, userdata)
        case .muteRecording(let stream, let isMuted):
            return pa_context_set_source_output_mute(context, stream, isMuted ? 1 : 0, done, userdata)
        case .movePlaying(let stream, let sink):
            return pa_context_move_sink_input_by_name(context, stream, sink, done, userdata)
        case .moveRecording(let stream, let source):
            return pa_context_move_source_output_by_name(context, stream, source, done, userdata)
        case .setProfile(let card, let profile):
            return pa_context_set_card_profile_by_name(context, card, profile, done, userdata)
        case .setSinkPort(let sink, let port):
            return pa_context_set_sink_port_by_name(context, sink, port, done, userdata)
        case .setSourcePort(let source, let port):
            return pa_context_set_source_port_by_name(context, source, port, done, userdata)
        case .muteSource(let source, let isMuted):
            return pa_context_set_source_mute_by_name(context, source, isMuted ? 1 : 0, done, userdata)
        case .setDefaultSink(let sink):
            return pa_context_set_default_sink(context, sink, done, userdata)
        case .setDefaultSource(let source):
            return pa_context_set_default_source(context, source, done, userdata)
        case .store(let stored):
            return store(stored, context, done, userdata)
        case .forget(let stored):
            return stored.withCString { name in
                var names: [UnsafePointer<CChar>?] = [name, nil]
                return pa_ext_stream_restore_delete(context, &names, done, userdata)
            }
        }
    }

    /// For the next stream of its kind: those that run keep what they have.
    private static func store(
        _ stored: StoredStream, _ context: OpaquePointer, _ done: @escaping pa_context_success_cb_t,
        _ userdata: UnsafeMutableRawPointer
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
        return stored.name.withCString { name in
            info.name = name
            guard let device = stored.device else {
                return pa_ext_stream_restore_write(context, PA_UPDATE_REPLACE, &info, 1, 0, done, userdata)
            }
            return device.withCString { device in
                info.device = device
                return pa_ext_stream_restore_write(context, PA_UPDATE_REPLACE, &info, 1, 0, done, userdata)
            }
        }
    }

    /// - Parameter channels: How many to make of a single value; nil: as many as there are.
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

    /// Why it is not sent: libpulse would assert, or cut a text at a NUL.
    fileprivate func problem(_ image: AudioServerImage) -> AudioServerFailure? {
        if names.contains(where: { $0.utf8.contains(0) || $0.utf8.count > PulseText.maximumBytes }) {
            return AudioServerFailure(.refused, "a name holds a NUL or more than \(PulseText.maximumBytes) bytes")
        }
        switch self {
        case .setPlayingVolume(let stream, let volume):
            guard let known = image.playing[stream] else {
                return AudioServerFailure(.notFound, "\(text): no such stream")
            }
            return Self.problem(volume)
                ?? (volume.count == 1 || volume.count == known.volume.count
                    ? nil
                    : AudioServerFailure(
                        .refused, "\(text): \(volume.count) volumes for \(known.volume.count) channels"))
        case .store(let stored):
            guard stored.volume.isEmpty || stored.volume.count == stored.channels.count else {
                return AudioServerFailure(
                    .refused, "\(text): \(stored.volume.count) volumes for \(stored.channels.count) channels")
            }
            return stored.volume.isEmpty ? nil : Self.problem(stored.volume)
        default: return nil
        }
    }

    private static func problem(_ volume: [UInt32]) -> AudioServerFailure? {
        guard (1...maximumChannels).contains(volume.count) else {
            return AudioServerFailure(.refused, "a volume has 1 to \(maximumChannels) channels")
        }
        guard volume.allSatisfy({ $0 <= maximumVolume }) else {
            return AudioServerFailure(.refused, "a volume is at most \(maximumVolume)")
        }
        return nil
    }

    private var names: [String] {
        switch self {
        case .setPlayingVolume, .mutePlaying, .muteRecording: []
        case .movePlaying(_, let name), .moveRecording(_, let name), .muteSource(let name, _): [name]
        case .setDefaultSink(let name), .setDefaultSource(let name), .forget(let name): [name]
        case .setProfile(let name, let part), .setSinkPort(let name, let part), .setSourcePort(let name, let part):
            [name, part]
        case .store(let stored): [stored.name, stored.device ?? ""]
        }
    }

    /// What it does, for messages.
    var text: String {
        switch self {
        case .setPlayingVolume(let stream, _): "setting the volume of stream \(stream)"
        case .mutePlaying(let stream, let isMuted): "\(isMuted ? "muting" : "unmuting") stream \(stream)"
        case .muteRecording(let stream, let isMuted): "\(isMuted ? "muting" : "unmuting") recording stream \(stream)"
        case .movePlaying(let stream, let sink): "moving stream \(stream) to \(sink)"
        case .moveRecording(let stream, let source): "moving recording stream \(stream) to \(source)"
        case .setProfile(let card, let profile): "setting the profile \(profile) of \(card)"
        case .setSinkPort(let sink, let port): "setting the port \(port) of \(sink)"
        case .setSourcePort(let source, let port): "setting the port \(port) of \(source)"
        case .muteSource(let source, let isMuted): "\(isMuted ? "muting" : "unmuting") \(source)"
        case .setDefaultSink(let sink): "making \(sink) the default sink"
        case .setDefaultSource(let source): "making \(source) the default source"
        case .store(let stored): "storing \(stored.name)"
        case .forget(let stored): "forgetting \(stored)"
        }
    }
}

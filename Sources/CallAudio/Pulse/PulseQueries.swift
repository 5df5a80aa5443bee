internal import CRingwakePulse

/// The kinds of things that are mirrored.
enum PulseObjectKind: CaseIterable {
    case server, client, card, sink, source, sinkInput, sourceOutput

    /// Nil for what is not mirrored: modules, samples.
    init?(facility: UInt32) {
        switch pa_subscription_event_type(rawValue: facility) {
        case PA_SUBSCRIPTION_EVENT_SERVER: self = .server
        case PA_SUBSCRIPTION_EVENT_CLIENT: self = .client
        case PA_SUBSCRIPTION_EVENT_CARD: self = .card
        case PA_SUBSCRIPTION_EVENT_SINK: self = .sink
        case PA_SUBSCRIPTION_EVENT_SOURCE: self = .source
        case PA_SUBSCRIPTION_EVENT_SINK_INPUT: self = .sinkInput
        case PA_SUBSCRIPTION_EVENT_SOURCE_OUTPUT: self = .sourceOutput
        default: return nil
        }
    }

    /// What is subscribed to.
    static let mask = pa_subscription_mask(
        rawValue: [
            PA_SUBSCRIPTION_MASK_SERVER, PA_SUBSCRIPTION_MASK_CLIENT, PA_SUBSCRIPTION_MASK_CARD,
            PA_SUBSCRIPTION_MASK_SINK, PA_SUBSCRIPTION_MASK_SOURCE, PA_SUBSCRIPTION_MASK_SINK_INPUT,
            PA_SUBSCRIPTION_MASK_SOURCE_OUTPUT,
        ].reduce(0) { $0 | $1.rawValue })
}

// The questions that the mirror asks. An index of nil asks for all of a kind.
extension PulseConnection {
    func subscribe(completion: @escaping (AudioServerFailure?) -> Void) {
        request("subscribing to changes", completion: completion) { context, userdata in
            pa_context_subscribe(
                context, PulseObjectKind.mask,
                { _, success, userdata in PulseRequest.acknowledged(userdata, success) }, userdata)
        }
    }

    func server(_ item: @escaping (pa_server_info) -> Void, completion: @escaping (AudioServerFailure?) -> Void) {
        request("asking for the server", item: Self.reading(item), completion: completion) { context, userdata in
            pa_context_get_server_info(
                context, { _, info, userdata in PulseRequest.received(userdata, info) }, userdata)
        }
    }

    func clients(
        _ index: UInt32?, _ item: @escaping (pa_client_info) -> Void,
        completion: @escaping (AudioServerFailure?) -> Void
    ) {
        request("asking for clients", item: Self.reading(item), completion: completion) { context, userdata in
            let callback: pa_client_info_cb_t = { _, info, end, userdata in PulseRequest.received(userdata, info, end) }
            guard let index else { return pa_context_get_client_info_list(context, callback, userdata) }
            return pa_context_get_client_info(context, index, callback, userdata)
        }
    }

    func cards(
        _ index: UInt32?, _ item: @escaping (pa_card_info) -> Void,
        completion: @escaping (AudioServerFailure?) -> Void
    ) {
        request("asking for cards", item: Self.reading(item), completion: completion) { context, userdata in
            let callback: pa_card_info_cb_t = { _, info, end, userdata in PulseRequest.received(userdata, info, end) }
            guard let index else { return pa_context_get_card_info_list(context, callback, userdata) }
            return pa_context_get_card_info_by_index(context, index, callback, userdata)
        }
    }

    func sinks(
        _ index: UInt32?, _ item: @escaping (pa_sink_info) -> Void,
        completion: @escaping (AudioServerFailure?) -> Void
    ) {
        request("asking for sinks", item: Self.reading(item), completion: completion) { context, userdata in
            let callback: pa_sink_info_cb_t = { _, info, end, userdata in PulseRequest.received(userdata, info, end) }
            guard let index else { return pa_context_get_sink_info_list(context, callback, userdata) }
            return pa_context_get_sink_info_by_index(context, index, callback, userdata)
        }
    }

    func sources(
        _ index: UInt32?, _ item: @escaping (pa_source_info) -> Void,
        completion: @escaping (AudioServerFailure?) -> Void
    ) {
        request("asking for sources", item: Self.reading(item), completion: completion) { context, userdata in
            let callback: pa_source_info_cb_t = { _, info, end, userdata in PulseRequest.received(userdata, info, end) }
            guard let index else { return pa_context_get_source_info_list(context, callback, userdata) }
            return pa_context_get_source_info_by_index(context, index, callback, userdata)
        }
    }

    func sinkInputs(
        _ index: UInt32?, _ item: @escaping (pa_sink_input_info) -> Void,
        completion: @escaping (AudioServerFailure?) -> Void
    ) {
        request("asking for playing streams", item: Self.reading(item), completion: completion) { context, userdata in
            let callback: pa_sink_input_info_cb_t = { _, info, end, userdata in
                PulseRequest.received(userdata, info, end)
            }
            guard let index else { return pa_context_get_sink_input_info_list(context, callback, userdata) }
            return pa_context_get_sink_input_info(context, index, callback, userdata)
        }
    }

    func sourceOutputs(
        _ index: UInt32?, _ item: @escaping (pa_source_output_info) -> Void,
        completion: @escaping (AudioServerFailure?) -> Void
    ) {
        request("asking for recording streams", item: Self.reading(item), completion: completion) { context, userdata in
            let callback: pa_source_output_info_cb_t = { _, info, end, userdata in
                PulseRequest.received(userdata, info, end)
            }
            guard let index else { return pa_context_get_source_output_info_list(context, callback, userdata) }
            return pa_context_get_source_output_info(context, index, callback, userdata)
        }
    }

    /// What the server stores for streams; refused where it has no such store.
    func storedStreams(
        _ item: @escaping (pa_ext_stream_restore_info) -> Void, completion: @escaping (AudioServerFailure?) -> Void
    ) {
        request("asking for stored streams", item: Self.reading(item), completion: completion) { context, userdata in
            pa_ext_stream_restore_read(
                context, { _, info, end, userdata in PulseRequest.received(userdata, info, end) }, userdata)
        }
    }

    /// The struct that libpulse points to.
    private static func reading<Info>(_ item: @escaping (Info) -> Void) -> (UnsafeRawPointer) -> Void {
        { item($0.assumingMemoryBound(to: Info.self).pointee) }
    }
}

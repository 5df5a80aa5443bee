internal import CRingwakePulse

/// The kinds of objects that are mirrored.
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

    /// The mask of the subscription.
    static let mask = pa_subscription_mask(
        rawValue: [
            PA_SUBSCRIPTION_MASK_SERVER, PA_SUBSCRIPTION_MASK_CLIENT, PA_SUBSCRIPTION_MASK_CARD,
            PA_SUBSCRIPTION_MASK_SINK, PA_SUBSCRIPTION_MASK_SOURCE, PA_SUBSCRIPTION_MASK_SINK_INPUT,
            PA_SUBSCRIPTION_MASK_SOURCE_OUTPUT,
        ].reduce(0) { $0 | $1.rawValue })
}

// The queries of the mirror.
extension PulseConnection {
    typealias Completion = (AudioServerFailure?) -> Void

    func subscribe(completion: @escaping Completion) {
        request("subscribing to changes", completion: completion) { context, userdata in
            pa_context_subscribe(context, PulseObjectKind.mask, { PulseRequest.acknowledged($2, $1) }, userdata)
        }
    }

    /// Reads the objects of a kind.
    ///
    /// - Parameters:
    ///   - index: the object to read; nil: all.
    ///   - item: Called for each, with libpulse's struct for the kind.
    func objects(
        _ kind: PulseObjectKind, _ index: UInt32?, item: @escaping (UnsafeRawPointer) -> Void,
        completion: @escaping Completion
    ) {
        request("asking for \(kind)", item: item, completion: completion) { context, data in
            switch (kind, index) {
            case (.server, _): pa_context_get_server_info(context, { PulseRequest.received($2, $1) }, data)
            case (.client, nil): pa_context_get_client_info_list(context, { PulseRequest.received($3, $1, $2) }, data)
            case (.client, let index?):
                pa_context_get_client_info(context, index, { PulseRequest.received($3, $1, $2) }, data)
            case (.card, nil): pa_context_get_card_info_list(context, { PulseRequest.received($3, $1, $2) }, data)
            case (.card, let index?):
                pa_context_get_card_info_by_index(context, index, { PulseRequest.received($3, $1, $2) }, data)
            case (.sink, nil): pa_context_get_sink_info_list(context, { PulseRequest.received($3, $1, $2) }, data)
            case (.sink, let index?):
                pa_context_get_sink_info_by_index(context, index, { PulseRequest.received($3, $1, $2) }, data)
            case (.source, nil): pa_context_get_source_info_list(context, { PulseRequest.received($3, $1, $2) }, data)
            case (.source, let index?):
                pa_context_get_source_info_by_index(context, index, { PulseRequest.received($3, $1, $2) }, data)
            case (.sinkInput, nil):
                pa_context_get_sink_input_info_list(context, { PulseRequest.received($3, $1, $2) }, data)
            case (.sinkInput, let index?):
                pa_context_get_sink_input_info(context, index, { PulseRequest.received($3, $1, $2) }, data)
            case (.sourceOutput, nil):
                pa_context_get_source_output_info_list(context, { PulseRequest.received($3, $1, $2) }, data)
            case (.sourceOutput, let index?):
                pa_context_get_source_output_info(context, index, { PulseRequest.received($3, $1, $2) }, data)
            }
        }
    }

    /// Has ``onStored`` called from now on; refused if the server has no such store.
    func subscribeToStored(completion: @escaping Completion) {
        request("subscribing to stored streams", completion: completion) {
            pa_ext_stream_restore_subscribe($0, 1, { PulseRequest.acknowledged($2, $1) }, $1)
        }
    }

    /// Reads the stored values of streams; refused if the server has no such store.
    func storedStreams(_ item: @escaping (StoredStream?) -> Void, completion: @escaping Completion) {
        request(
            "asking for stored streams", item: { item(PulseReading.stored(PulseReading.info($0))) },
            completion: completion
        ) {
            pa_ext_stream_restore_read($0, { PulseRequest.received($3, $1, $2) }, $1)
        }
    }
}

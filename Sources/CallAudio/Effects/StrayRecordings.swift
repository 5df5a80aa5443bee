internal import RingwakeCore

/// Streams that record what a sink plays only because there was no microphone.
///
/// PulseAudio gives a stream that names no source the monitor of a sink if there is nothing else. A call would send the
/// other side its own voice, so such a stream is muted until there is a microphone, and is then moved to it. A stream
/// that went to a monitor while there was a microphone did so by choice, and stays there. PipeWire leaves such a stream
/// without a source, so there each monitor is a choice.
struct StrayRecordings: Hashable, Sendable {
    /// Their indexes. A stream stays one until it ends: the undoing of its move leads back to the monitor.
    private(set) var streams: Set<UInt32> = []
    private var chosen: Set<UInt32> = []

    mutating func see(_ image: AudioServerImage) {
        guard !image.isPipeWire else { return }
        streams.formIntersection(image.recording.keys)
        chosen.formIntersection(image.recording.keys)
        let monitored = image.recording.values.filter { stream in
            stream.device.flatMap { image.sources[$0] }?.monitors != nil
        }
        guard !monitored.isEmpty else { return }
        let new = Set(monitored.map(\.index)).subtracting(streams).subtracting(chosen)
        if image.hasMicrophone { chosen.formUnion(new) } else { streams.formUnion(new) }
    }
}

extension AudioServerImage {
    /// Whether it has a source that is not the monitor of a sink.
    fileprivate var hasMicrophone: Bool { sources.values.contains { $0.monitors == nil } }
}

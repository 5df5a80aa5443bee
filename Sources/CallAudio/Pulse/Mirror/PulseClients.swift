/// The clients of a server, which name the processes of their streams.
///
/// They are not part of the image: a client that plays and records nothing changes nothing in it.
struct PulseClients {
    struct Client: Hashable {
        let index: UInt32
        /// The process that the client names.
        let process: Int32?
        /// The process that PipeWire sees at the other end. For clients of PulseAudio's protocol that is the process
        /// which translates it.
        let peer: Int32?
    }

    var known: [UInt32: Client] = [:]
    /// Clients of streams that do not name their process.
    private(set) var awaited: Set<UInt32> = []
    /// Clients that have left. PipeWire removes a client before its streams.
    private var left: Set<UInt32> = []

    mutating func remove(_ index: UInt32) {
        if known[index] != nil { left.insert(index) }
    }

    /// Forgets clients that have left and have no streams any more.
    mutating func note(_ image: AudioServerImage) {
        awaited = []
        for streams in [image.playing, image.recording] {
            for stream in streams.values where stream.process == nil {
                if let client = stream.client { awaited.insert(client) }
            }
        }
        guard !left.isEmpty else { return }
        let streams = [image.playing, image.recording].flatMap { $0.values.compactMap(\.client) }
        for index in left.subtracting(streams) { known[index] = nil }
        left.formIntersection(streams)
    }

    /// The image, with the processes of streams that do not name theirs.
    ///
    /// - Parameter ownIndex: Our index. The process that PipeWire sees for us is the translator.
    func resolving(_ image: AudioServerImage, ownIndex: UInt32?) -> AudioServerImage {
        let translator = ownIndex.flatMap { known[$0]?.peer }
        var image = image
        for (index, stream) in image.playing where stream.process == nil {
            image.playing[index]?.process = process(of: stream, translator)
        }
        for (index, stream) in image.recording where stream.process == nil {
            image.recording[index]?.process = process(of: stream, translator)
        }
        return image
    }

    private func process(of stream: AudioServerImage.Stream, _ translator: Int32?) -> Int32? {
        guard let client = stream.client.flatMap({ known[$0] }) else { return nil }
        if let process = client.process { return process }
        // Without our entry, the translator cannot be told from a client.
        return translator != nil && client.peer != translator ? client.peer : nil
    }
}

/// The clients of a server, which tell whose their streams are.
///
/// They are no part of the image: who comes and goes without playing or recording anything changes nothing in it.
struct PulseClients {
    struct Client: Hashable {
        let index: UInt32
        /// The process that it says it is.
        let process: Int32?
        /// The process that PipeWire sees at the other end. For all who speak PulseAudio's protocol that is the process
        /// which translates it.
        let peer: Int32?
    }

    var known: [UInt32: Client] = [:]
    /// Those that streams which do not say whose they are came over.
    private(set) var awaited: Set<UInt32> = []
    /// Those that have left. PipeWire tells of a client's end before that of its streams.
    private var left: Set<UInt32> = []

    mutating func remove(_ index: UInt32) {
        if known[index] != nil { left.insert(index) }
    }

    /// Forgets those that have left and have no streams any more.
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

    /// The image, with the processes of streams that do not say theirs themselves.
    ///
    /// - Parameter ownIndex: Which client we are. What PipeWire sees at our end is the translating process.
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
        // Without the translator's number it cannot be told from a client's.
        return translator != nil && client.peer != translator ? client.peer : nil
    }
}

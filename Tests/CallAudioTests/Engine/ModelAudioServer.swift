@testable import CallAudio
import RunLoop

/// A model of a server behind the engine's seam: it answers from the loop, in a later turn, as a real one does.
final class ModelAudioServer: AudioServer {
    var model: ModelServer
    private(set) var image: AudioServerImage?
    var onEvent: ((AudioServerEvent) -> Void)?
    /// Is called with each batch when it comes, before anything of it is done.
    var onPerform: (([AudioServerCommand]) -> Void)?
    /// Batches are held until ``release()``.
    var isHeld = false
    var isClosed = false
    /// What is stored is in the list that a client gets.
    var listsStored = true
    /// Nothing unless a test says that it is known.
    var knownStored: [StoredStream]?
    /// How often ``storedStreams(completion:)`` was asked.
    private(set) var questions = 0
    /// Everything that was asked, in order.
    private(set) var commands: [AudioServerCommand] = []
    private(set) var batches = 0
    private let runLoop: RunLoop
    private var held: [() -> Void] = []
    private var open: [Int: () -> Void] = [:]
    private var nextBatch = 0

    init(_ image: AudioServerImage, runLoop: RunLoop) {
        model = ModelServer(image)
        self.runLoop = runLoop
    }

    func connect() {
        runLoop.enqueue { [self] in connected() }
    }

    /// There is a server, perhaps again.
    func connected() {
        image = model.image
        onEvent?(.connected(model.image))
    }

    /// The user, an app, a plug.
    func change(_ body: (inout ModelServer) -> Void) {
        body(&model)
        guard image != nil else { return }
        image = model.image
        onEvent?(.changed(model.image))
    }

    /// `kill -9` of the server: open batches fail, and another instance has other indexes and nothing playing.
    func crash() {
        image = nil
        for fail in open.sorted(by: { $0.key < $1.key }).map(\.value) { fail() }
        (open, held) = ([:], [])
        onEvent?(.lost("killed"))
        model.image.cookie += 1
        model.image.playing = [:]
        model.image.recording = [:]
    }

    func perform(_ commands: [AudioServerCommand], completion: @escaping ([AudioServerFailure?]) -> Void) {
        onPerform?(commands)
        self.commands += commands
        batches += 1
        nextBatch += 1
        let number = nextBatch
        open[number] = { completion(commands.map { _ in AudioServerFailure(.lost, "killed") }) }
        answer { [self] in
            guard open.removeValue(forKey: number) != nil else { return }
            let failures = commands.map { model.perform($0) }
            image = model.image
            completion(failures)
            onEvent?(.changed(model.image))
        }
    }

    func storedStreams(completion: @escaping (Result<[StoredStream], AudioServerFailure>) -> Void) {
        questions += 1
        nextBatch += 1
        let number = nextBatch
        open[number] = { completion(.failure(AudioServerFailure(.lost, "killed"))) }
        answer { [self] in
            guard open.removeValue(forKey: number) != nil else { return }
            image = model.image
            completion(.success(listsStored ? model.stored.values.sorted { $0.name < $1.name } : []))
        }
    }

    private func answer(_ body: @escaping () -> Void) {
        if isHeld { held.append(body) } else { runLoop.enqueue(body) }
    }

    func release() {
        isHeld = false
        for body in held { runLoop.enqueue(body) }
        held = []
    }

    /// The oldest batch or question that is held is answered.
    func releaseOne() {
        if !held.isEmpty { runLoop.enqueue(held.removeFirst()) }
    }

    func clear() {
        commands = []
        batches = 0
    }

    func close() { isClosed = true }
}

/// Players as a value: they pause at once, unless told otherwise.
final class ModelPlayers: MediaPlayers {
    var playingNow: [MediaPlayer] = []
    /// Those that refuse to pause.
    var stubborn: Set<String> = []
    /// Those that take the order, and pause when told by ``pauses(_:)``.
    var late: Set<String> = []
    /// Those that answer nothing.
    var silent: Set<String> = []
    /// Those that are not resumed: another track plays.
    var gone: Set<String> = []
    var resumed: [MediaPlayer] = []
    var onPause: (([MediaPlayer]) -> Void)?
    var isClosed = false
    var watched: [MediaPlayer] = []
    var onChange: ((MediaPlayer, MediaPlayerChange) -> Void)?
    /// No answer comes before ``answer()``.
    var isHeld = false
    private var held: [() -> Void] = []
    private let runLoop: RunLoop

    init(runLoop: RunLoop) { self.runLoop = runLoop }

    private func reply(_ body: @escaping () -> Void) {
        if isHeld { held.append(body) } else { runLoop.enqueue(body) }
    }

    func answer() {
        isHeld = false
        for body in held { runLoop.enqueue(body) }
        held = []
    }

    func playing(completion: @escaping ([MediaPlayer]) -> Void) {
        reply { [self] in completion(playingNow.filter { !silent.contains($0.name) }) }
    }

    func pause(_ players: [MediaPlayer], completion: @escaping ([MediaPlayer]) -> Void) {
        onPause?(players)
        let ordered = players.filter { !stubborn.contains($0.name) }
        for player in ordered where !late.contains(player.name) { pauses(player) }
        reply { completion(ordered) }
    }

    func resume(_ players: [MediaPlayer], completion: @escaping (MediaPlayerAnswers) -> Void) {
        var answers = MediaPlayerAnswers()
        for player in players where !gone.contains(player.name) {
            if silent.contains(player.name) {
                answers.silent.append(player)
            } else if playingNow.contains(player) {
                answers.playing.append(player)
            } else {
                answers.resumed.append(player)
            }
        }
        resumed += answers.resumed
        playingNow += answers.resumed
        reply { completion(answers) }
    }

    func watch(_ players: [MediaPlayer], paused: Set<MediaPlayer>) { watched = players }

    /// It carries out the order.
    func pauses(_ player: MediaPlayer) {
        playingNow.removeAll { $0 == player }
        if watched.contains(player) { runLoop.enqueue { [self] in onChange?(player, .paused) } }
    }

    /// The user's hand: told of those that are watched.
    func userPlays(_ player: MediaPlayer) {
        playingNow.append(player)
        if watched.contains(player) { runLoop.enqueue { [self] in onChange?(player, .playing) } }
    }

    func leaves(_ player: MediaPlayer) {
        playingNow.removeAll { $0 == player }
        if watched.contains(player) { runLoop.enqueue { [self] in onChange?(player, .gone) } }
    }

    func close() { isClosed = true }
}

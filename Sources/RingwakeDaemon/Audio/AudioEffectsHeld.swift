internal import FileSystem
internal import FoundationEssentials
internal import RingwakeCore

/// The changes of the audio server that are to be undone.
struct AudioEffectsHeld: Equatable {
    var count: Int
    /// Nothing wants them any more: they are being undone, or wait for the server or for a player.
    var isRestoring: Bool

    /// Far more than the longest journal.
    private static let maximumBytes = 8 << 20

    init(count: Int, isRestoring: Bool) { (self.count, self.isRestoring) = (count, isRestoring) }

    /// What the journal of a program says that is gone.
    init(inJournal path: String) {
        self.init(count: 0, isRestoring: false)
        guard FileSystem.exists(path) else { return }
        let bytes = (try? FileSystem.read(path, maximumSize: Self.maximumBytes)) ?? []
        let heading = try? JSONDecoder().decode(
            AudioJournalHeading.self, from: Data(bytes.prefix { $0 != UInt8(ascii: "\n") }))
        // A journal that can't be read, or is of an earlier version, has at least one.
        self.init(count: heading?.effects ?? 1, isRestoring: true)
    }
}

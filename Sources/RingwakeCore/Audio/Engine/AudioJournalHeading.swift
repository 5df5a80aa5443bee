/// The first line of an effect journal, as JSON. The second line has the effects.
package struct AudioJournalHeading: Hashable, Sendable, Codable {
    package static let knownFormat = "ringwake audio effects"

    package var format = AudioJournalHeading.knownFormat
    package var version: Int
    /// Length of the second line, without its end, and a checksum of it.
    package var bytes: Int
    package var checksum: String
    /// The number of effects; nil in journals of earlier versions.
    package var effects: Int?

    package init(version: Int, bytes: Int, checksum: String, effects: Int) {
        self.version = version
        self.bytes = bytes
        self.checksum = checksum
        self.effects = effects
    }
}

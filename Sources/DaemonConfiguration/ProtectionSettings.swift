package import RingwakeCore

/// The `[protection]` table.
package struct ProtectionSettings: Sendable, Equatable {
    package var rootKey = RootKeyChoice.auto
    /// What locks protected data; nil: the screen for a user's daemon, else only a command.
    package var lock: LockCause?
    /// The class of each kind of data.
    package var classes = ProtectionClasses()

    /// What locks protected data.
    package enum LockCause: String, Sendable, CaseIterable {
        /// The lock of the screen, as logind reports it, or a command.
        case session
        /// Only a command.
        case command
    }

    package init() {}
}

/// What opens the keys of protected data.
package enum RootKeyChoice: Hashable, Sendable {
    /// The credential if systemd passes one, else what the file of keys names, else nothing is protected.
    case auto
    /// Nothing is protected.
    case off
    case credential
    case passphrase
    case tpm
    /// A file with the key: an absolute path.
    case file(String)

    /// The words in the configuration; a path is none of them.
    static let words = ["auto", "off", "credential", "passphrase", "tpm"]

    init?(text: String) {
        switch text {
        case "auto": self = .auto
        case "off": self = .off
        case "credential": self = .credential
        case "passphrase": self = .passphrase
        case "tpm": self = .tpm
        case _ where text.hasPrefix("/"): self = .file(text)
        default: return nil
        }
    }

    /// As the configuration says it.
    package var text: String {
        switch self {
        case .auto: "auto"
        case .off: "off"
        case .credential: "credential"
        case .passphrase: "passphrase"
        case .tpm: "tpm"
        case .file(let path): path
        }
    }
}

/// The `[protection.classes]` table.
package struct ProtectionClasses: Sendable, Equatable {
    package var payloads = ProtectedKind.payloads.standardClass
    package var callers = ProtectedKind.callers.standardClass
    package var appState = ProtectedKind.appState.standardClass
    package var lists = ProtectedKind.lists.standardClass

    /// By kind.
    package var byKind: [ProtectedKind: ProtectionClass] {
        [.payloads: payloads, .callers: callers, .appState: appState, .lists: lists]
    }
}

extension ProtectionSettings {
    /// The keys of `[protection]`.
    static let keys: [Setting<ProtectionSettings>] = [
        .init("root_key", .rootKey, \.rootKey),
        .init("lock", .word, \.lock, standard: "`session` for a user's daemon, else `command`"),
        .init("classes", .section(classKeys), \.classes),
    ]

    private static let classKeys: [Setting<ProtectionClasses>] = [
        .init("payloads", .word, \.payloads),
        .init("callers", .word, \.callers),
        .init("app_state", .word, \.appState),
        .init("lists", .word, \.lists),
    ]
}

extension ValueType where Value == RootKeyChoice {
    fileprivate static let rootKey = text(
        "word or path",
        "one of " + RootKeyChoice.words.map { "'\($0)'" }.joined(separator: ", ")
            + ", or the absolute path of a file with the key",
        accepts: RootKeyChoice.words, show: \.text
    ) { RootKeyChoice(text: $0) }
}

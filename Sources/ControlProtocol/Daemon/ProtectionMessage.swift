/// The protection of stored data, as `GET /v1/protection` shows it. It has no secret.
package struct ProtectionMessage: Codable, Equatable, Sendable {
    /// A class with keys.
    package struct Class: Codable, Equatable, Sendable {
        /// `complete`, `completeUnlessOpen` or `completeUntilFirstUserAuthentication`.
        package var name: String
        /// Whether its data can be read now.
        package var available: Bool
        /// Of its present key; nil: it has none.
        package var generation: UInt32?
        /// The kinds of data that have this class: `payloads`, `callers`, `appState`, `lists`.
        package var kinds: [String]
        /// How far its data is written again under the present key; nil: it is.
        package var rekeying: Progress?

        package init(
            name: String, available: Bool, generation: UInt32?, kinds: [String], rekeying: Progress? = nil
        ) {
            self.name = name
            self.available = available
            self.generation = generation
            self.kinds = kinds
            self.rekeying = rekeying
        }
    }

    package struct Progress: Codable, Equatable, Sendable {
        /// Records that were written, and how many there are.
        package var done, total: Int64

        package init(done: Int64, total: Int64) {
            self.done = done
            self.total = total
        }
    }

    /// How the key is made of the passphrase: 32 bytes by scrypt (RFC 7914).
    package struct Derivation: Codable, Equatable, Sendable {
        /// The smallest cost `n` of scrypt that daemon and command accept. With a smaller one, the passphrase of a key is soon
        /// found by trying.
        package static let minimumN = 1 << 14

        /// In base64url.
        package var salt: String
        package var n, r, p: Int

        package init(salt: String, n: Int, r: Int, p: Int) {
            self.salt = salt
            self.n = n
            self.r = r
            self.p = p
        }
    }

    package var schema = ControlAPI.schema
    /// `off`, `locked` or `unlocked`.
    package var state: String
    /// Why it is off, locked or unusable, and what to do; nil if there is nothing to say.
    package var why: String?
    /// True if something is wrong with the keys or with what opens them; nil if nothing is.
    package var unusable: Bool?
    /// What opens the keys: `credential`, `keyFile`, `passphrase` or `tpm`; nil: nothing.
    package var source: String?
    /// With the source `keyFile`: its path.
    package var keyFile: String?
    /// Whether data of the class `complete` can be read.
    package var protectedDataAvailable: Bool
    /// What locks: `session` or `command`.
    package var lock: String
    /// With `session`: what logind says, `locked`, `unlocked` or `unknown`.
    package var session: String?
    /// Why that is unknown.
    package var sessionWhy: String?
    /// For how many milliseconds it has been locked; nil: it isn't.
    package var lockedMs: Int64?
    package var classes: [Class]
    /// With the source `passphrase`.
    package var passphrase: Derivation?

    package init(
        state: String, why: String? = nil, unusable: Bool? = nil, source: String? = nil, keyFile: String? = nil,
        protectedDataAvailable: Bool,
        lock: String, session: String? = nil, sessionWhy: String? = nil, lockedMs: Int64? = nil,
        classes: [Class] = [], passphrase: Derivation? = nil
    ) {
        self.state = state
        self.why = why
        self.unusable = unusable
        self.source = source
        self.keyFile = keyFile
        self.protectedDataAvailable = protectedDataAvailable
        self.lock = lock
        self.session = session
        self.sessionWhy = sessionWhy
        self.lockedMs = lockedMs
        self.classes = classes
        self.passphrase = passphrase
    }
}

/// Body of `POST /v1/protection/unlock`.
package struct ProtectionUnlock: Codable, Equatable, Sendable {
    /// Maximum characters of a key: more than 32 bytes need.
    package static let maximumKeyCharacters = 64

    /// With the source `passphrase`: the key that is made of it, in base64url. Nil with the others.
    package var key: String?

    package init(key: String? = nil) {
        self.key = key
    }
}

/// Body of `POST /v1/protection/rekey` and `POST /v1/protection/delete`.
package struct ProtectionClassChoice: Codable, Equatable, Sendable {
    /// The name of a class; nil: all of them, which `delete` doesn't take.
    package var `class`: String?

    package init(class: String? = nil) {
        self.class = `class`
    }
}

/// Body of `POST /v1/protection/passphrase`: sets the passphrase, or changes it.
package struct ProtectionPassphrase: Codable, Equatable, Sendable {
    /// The key that is made of the new passphrase, in base64url.
    package var key: String
    /// How it is made.
    package var passphrase: ProtectionMessage.Derivation

    package init(key: String, passphrase: ProtectionMessage.Derivation) {
        self.key = key
        self.passphrase = passphrase
    }
}

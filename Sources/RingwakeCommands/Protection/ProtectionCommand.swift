import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake protection`
struct ProtectionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "protection", "Show and control the encryption of what the daemon stores.",
        examples: """
            ringwake protection status
            ringwake protection unlock
            ringwake protection lock
            """,
        details: """
            What is encrypted, and when it can be read, is set in [protection] of
            ringwaked.toml. A locked device still takes pushes, and rings.
            """,
        subcommands: [
            ProtectionStatusCommand.self, ProtectionLockCommand.self, ProtectionUnlockCommand.self,
            ProtectionRekeyCommand.self, ProtectionDeleteCommand.self, ProtectionPassphraseCommand.self,
        ])
}

/// `ringwake protection status`
struct ProtectionStatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "status", "Show what is encrypted, what can be read now, and what locks it.",
        examples: """
            ringwake protection status
            ringwake protection status --json | jq -r .protectedDataAvailable
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try show(ProtectionMessage.self, at: RequestTarget("protection"), ProtectionText.text, in: context)
    }
}

/// `ringwake protection lock`
struct ProtectionLockCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "lock", "Lock protected data.",
        examples: """
            ringwake protection lock
            """,
        details: """
            Apps are told at once, and have ten seconds to write and read what they need.
            Then data of the classes complete and completeUnlessOpen can't be read until
            the device is unlocked. Pushes are still taken, and calls ring.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let answer: ProtectionMessage = try control.client(in: context).post(RequestTarget("protection", "lock"))
        let begun =
            answer.state == "unlocked"
            ? "the device is being locked: apps have ten seconds to write what they need\n" : ""
        return try show(answer, begun + ProtectionText.text(of: answer, style: context.style), in: context)
    }
}

/// `ringwake protection unlock`
struct ProtectionUnlockCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "unlock", "Unlock protected data.",
        examples: """
            ringwake protection unlock
            ringwake protection unlock --passphrase-file /run/secrets/ringwake
            """,
        details: """
            Asks for the passphrase if the keys are under one. The daemon gets the key that
            is made of it, and never the passphrase.
            """)

    @Option(help: .of("file", "The file with the passphrase, in its first line; - asks for it."), completion: .file())
    var passphraseFile: String?

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        var before: ProtectionMessage = try client.get(RequestTarget("protection"))
        if before.passphrase == nil, before.unusable == true, passphraseFile != nil {
            // The file of keys may have been put back: then the daemon reads it now, and asks for the passphrase.
            do throws(RingwakeError) {
                let answer: ProtectionMessage = try client.post(RequestTarget("protection", "unlock"))
                return try show(answer, ProtectionText.text(of: answer, style: context.style), in: context)
            } catch {
                guard error.code == .locked else { throw error }
                before = try client.get(RequestTarget("protection"))
            }
        }
        let answer = try unlock(before, client, in: context)
        return try show(answer, ProtectionText.text(of: answer, style: context.style), in: context)
    }

    private func unlock(
        _ before: ProtectionMessage, _ client: ControlClient, in context: CommandContext
    ) throws(RingwakeError) -> ProtectionMessage {
        guard let derivation = before.passphrase else {
            guard passphraseFile == nil else {
                throw RingwakeError(
                    .conflict,
                    before.source == nil
                        ? "no passphrase is set; run 'ringwake protection passphrase', or see what 'ringwake protection "
                            + "status' says"
                        : "no passphrase opens the keys (source: \(before.source ?? "none")); leave out --passphrase-file"
                )
            }
            return try client.post(RequestTarget("protection", "unlock"))
        }
        var (client, tries) = (client, passphraseFile == nil ? PassphraseKey.maximumTries : 1)
        client.timeout = PassphraseKey.answerTimeout
        while true {
            tries -= 1
            let key = try PassphraseKey.key(
                file: passphraseFile, for: "protected data", isNew: false, derivation, in: context)
            do throws(RingwakeError) {
                return try client.post(RequestTarget("protection", "unlock"), ProtectionUnlock(key: key))
            } catch {
                guard error.code == .badCredential, tries > 0, context.canAsk else { throw error }
                context.errors.write("ringwake: \(error.message)\n")
            }
        }
    }
}

/// `ringwake protection rekey`
struct ProtectionRekeyCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "rekey", "Make new keys, and encrypt stored data again.",
        examples: """
            ringwake protection rekey
            ringwake protection rekey complete
            """,
        details: """
            New data is encrypted with the new key at once. Stored data follows while calls
            go on; 'ringwake protection status' shows how far it is. The former key is
            removed at the end.
            """)

    @Argument(help: .of("class", "The class; without it, all."), completion: .list(ProtectionText.classes))
    var `class`: String?

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let answer: ProtectionMessage = try control.client(in: context).post(
            RequestTarget("protection", "rekey"), ProtectionClassChoice(class: `class`))
        return try show(answer, ProtectionText.text(of: answer, style: context.style), in: context)
    }
}

/// `ringwake protection delete`
struct ProtectionDeleteCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "delete", "Delete the keys of a class: its stored data can never be read again.",
        examples: """
            ringwake protection delete complete
            ringwake protection delete complete --yes
            """,
        details: """
            It is done at once and can't be undone: nobody has another copy of the keys,
            except in a backup. New data of the class gets a new key. Calls in progress
            keep what they need. If lists of callers are of this class, their entries are
            gone, and block nobody any more.
            """)

    @Argument(help: .of("class", "The class."), completion: .list(ProtectionText.classes))
    var `class`: String

    @Flag(name: .shortAndLong, help: "Don't ask.")
    var yes = false

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try Confirmation.require(
            "Make all stored data of the class \(TerminalText.printable(`class`)) unreadable for ever", given: yes,
            in: context)
        let answer: ProtectionMessage = try control.client(in: context).post(
            RequestTarget("protection", "delete"), ProtectionClassChoice(class: `class`))
        return try show(answer, ProtectionText.text(of: answer, style: context.style), in: context)
    }
}

/// `ringwake protection passphrase`
struct ProtectionPassphraseCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "passphrase", "Set the passphrase that opens the keys, or change it.",
        examples: """
            ringwake protection passphrase
            ringwake protection passphrase --passphrase-file /run/secrets/ringwake
            """,
        details: """
            Needs 'root_key = "passphrase"' in [protection] of ringwaked.toml, and keys that
            are unlocked now. Stored data is not written again: only its keys are encrypted
            under the new passphrase. Nobody can recover a passphrase that is forgotten.
            """)

    @Option(
        help: .of("file", "The file with the new passphrase, in its first line; - asks for it."), completion: .file())
    var passphraseFile: String?

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        var client = control.client(in: context)
        client.timeout = PassphraseKey.answerTimeout
        let derivation = try PassphraseKey.newDerivation()
        let key = try PassphraseKey.key(
            file: passphraseFile, for: "protected data (new)", isNew: true, derivation, in: context)
        let answer: ProtectionMessage = try client.post(
            RequestTarget("protection", "passphrase"), ProtectionPassphrase(key: key, passphrase: derivation))
        return try show(answer, ProtectionText.text(of: answer, style: context.style), in: context)
    }
}

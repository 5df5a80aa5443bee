import ControlProtocol
import Cryptography
import FileSystem
import Glibc
import RingwakeCore
import VoIPCertificates

/// The secrets of a team's webhook, `teams.d/ID.webhook`: the newest first.
struct TeamWebhookFile {
    /// The owner alone; with root's daemon also the group that it runs in.
    private static let (ownMode, sharedMode): (UInt32, UInt32) = (0o600, 0o640)
    private static let maximumBytes = 4096

    let path: String
    private let stateDirectory: String

    init(of id: String, in configuration: ConfigurationMessage) {
        path = "\(configuration.teamsDirectory)/\(id).webhook"
        stateDirectory = configuration.stateDirectory
    }

    /// The file as it is; nil if there is none.
    func contents() throws(RingwakeError) -> [UInt8]? {
        do throws(FileSystemError) {
            return try FileSystem.read(path, maximumSize: Self.maximumBytes)
        } catch {
            guard error.isMissing else { throw RingwakeError(error) }
            return nil
        }
    }

    /// The secrets that the file has to have: a new one before the newest of the present ones.
    static func renewed(_ present: [UInt8]?) throws(RingwakeError) -> (text: String, secret: String) {
        let secret = try WebhookSecret.generate().text
        let former = try present.map { bytes throws(RingwakeError) in try WebhookSecret.all(inFile: bytes) }?.first
        return ([secret, former?.text].compactMap { $0 }.joined(separator: "\n") + "\n", secret)
    }

    func write(_ contents: [UInt8]) throws(RingwakeError) {
        try TrustedDirectory.require(FileSystem.split(path).directory)
        let path = path
        var attributes = FileAttributes(owner: geteuid(), group: getegid(), mode: Self.ownMode)
        // The daemon's user owns its state directory. Without one the daemon has not run yet: root gives the group.
        if geteuid() == 0, let state = try? FileSystem.attributes(of: stateDirectory), state.group != 0 {
            (attributes.group, attributes.mode) = (state.group, Self.sharedMode)
        }
        try withFiles { () throws(FileSystemError) in
            try FileSystem.replace(path, with: contents, attributes: attributes)
        }
    }

    func remove() throws(RingwakeError) {
        let path = path
        guard FileSystem.exists(path) else { return }
        try withFiles { () throws(FileSystemError) in try FileSystem.remove(path) }
    }
}

extension Teams {
    /// Writes a team's file with a webhook, and its secret; restores both if the daemon refuses them.
    ///
    /// - Parameters:
    ///   - url: `invalidRequest` if it is none.
    ///   - renewsSecret: whether to make a new secret if there is one.
    /// - Returns: the new secret; nil if the present one stays.
    mutating func change(
        _ file: ConfiguredFile, to contents: inout TeamFile, webhook url: String, caFile: String?, renewsSecret: Bool
    ) throws(RingwakeError) -> String? {
        guard WebhookURL(url) != nil else {
            throw RingwakeError(.invalidRequest, "'\(url)' can't be a webhook's URL; give \(WebhookURL.form)")
        }
        let secrets = TeamWebhookFile(of: contents.id, in: configuration)
        contents.webhook = .init(url: url, secretFile: secrets.path, caFile: caFile.map(InputFile.absolute))
        let present = try secrets.contents()
        guard present == nil || renewsSecret else {
            try change(file, to: contents)
            return nil
        }
        if !FileSystem.exists(configuration.teamsDirectory) {
            let directory = configuration.teamsDirectory
            try withFiles { () throws(FileSystemError) in try TeamFile.makeDirectory(directory) }
        }
        let (text, secret) = try TeamWebhookFile.renewed(present)
        try secrets.write(Array(text.utf8))
        do throws(RingwakeError) {
            try change(file, to: contents)
        } catch {
            if let present { try secrets.write(present) } else { try secrets.remove() }
            throw error
        }
        return secret
    }
}

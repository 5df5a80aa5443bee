import ControlProtocol
import FileSystem
import RingwakeCore
import VoIPCertificates

/// A file in the daemon's configuration, of an app or a team. It is changed together with the daemon: if the daemon
/// refuses the change, the file is restored.
struct ConfiguredFile: Equatable {
    /// Everyone may read it: it holds no secret.
    static let mode: UInt32 = 0o644
    /// Maximum bytes of an existing file, which is restored if the daemon refuses the new one.
    static let maximumBytes = 64 * 1024

    let path: String

    /// The file's contents; nil if there is no file.
    func contents() throws(RingwakeError) -> [UInt8]? {
        do throws(FileSystemError) {
            return try FileSystem.read(path, maximumSize: ConfiguredFile.maximumBytes)
        } catch {
            guard error.isMissing else { throw RingwakeError(error) }
            return nil
        }
    }

    /// Writes `contents` to the file (nil: removes it), then sends the request. Restores the file if the request
    /// fails.
    func change<Answer>(
        to contents: [UInt8]?, _ ask: () throws(RingwakeError) -> Answer
    ) throws(RingwakeError) -> Answer {
        let previous = try self.contents()
        if previous != contents { try put(contents) }
        do throws(RingwakeError) {
            return try ask()
        } catch let refusal {
            guard previous != contents else { throw refusal }
            do throws(RingwakeError) {
                try put(previous)
            } catch {
                throw RingwakeError(
                    refusal.code,
                    "the daemon refused: \(refusal.message); and '\(path)' could not be restored (\(error.message)): "
                        + "repair it by hand")
            }
            throw RingwakeError(refusal.code, "the daemon refused, nothing was changed: \(refusal.message)")
        }
    }

    /// Throws if the daemon did not accept the file.
    ///
    /// - Parameter setAside: the files that it did not accept.
    func check(_ setAside: [SetAsideMessage]?) throws(RingwakeError) {
        guard let own = setAside?.first(where: { $0.file == path }) else { return }
        throw RingwakeError(.badConfiguration, own.why)
    }

    private func put(_ contents: [UInt8]?) throws(RingwakeError) {
        try TrustedDirectory.require(FileSystem.split(path).directory)
        try withFiles { () throws(FileSystemError) in
            if let contents {
                try FileSystem.replace(path, with: contents, mode: ConfiguredFile.mode)
            } else {
                try FileSystem.remove(path)
            }
        }
    }
}

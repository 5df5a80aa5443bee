import ControlProtocol
import Glibc
import RingwakeCore

/// Sends the new entries of a list to the daemon, in pieces, when all of them have been added. Sends them in the
/// order of their patterns: the daemon's store then writes them many times faster. The list changes only at the end.
final class CallerListUpload {
    /// Maximum bytes of entries in one request: below the daemon's limit of a body.
    private static let pieceBytes = 48 * 1024
    /// Maximum entries in one request, which the daemon stores in one step.
    private static let pieceEntries = 8_000
    /// Maximum bytes of all entries, which are held in memory.
    private static let maximumBytes = 512 * 1024 * 1024
    /// Timeout of one piece.
    private static let pieceTimeout = Duration.seconds(60)
    /// Maximum tries for a piece that the daemon has no room for at the moment, and the pause between two in
    /// milliseconds.
    private static let (tries, pause) = (50, Int32(200))

    private let client: ControlClient
    private let list: String
    private let kind: CallerListKind?
    private var id: String?
    /// All entries as lines of a request, in one buffer: a million small strings would take too much memory.
    private var text: [UInt8] = []
    /// Where each line begins.
    private var starts: [UInt32] = []

    /// Sends nothing to the daemon before ``finish(etag:source:)``.
    ///
    /// - Parameter kind: nil: the list's own kind, or `block` for a new list.
    init(client: ControlClient, list: String, kind: CallerListKind?) {
        self.client = client
        self.list = list
        self.kind = kind
    }

    func add(_ new: [CallerEntry]) throws(RingwakeError) {
        for entry in new {
            guard text.count < CallerListUpload.maximumBytes, let start = UInt32(exactly: text.count) else {
                throw RingwakeError(
                    .limitReached,
                    "the entries have more than \(CallerListUpload.maximumBytes / 1024 / 1024) MiB: split the list")
            }
            starts.append(start)
            // `CallerPattern` and `CallerEntry` ensure that patterns and labels contain neither tabs nor newlines.
            text += entry.pattern.description.utf8
            if let label = entry.label {
                text.append(UInt8(ascii: "\t"))
                text += label.utf8
            }
            text.append(UInt8(ascii: "\n"))
        }
    }

    /// Replaces the list's entries by those that were added.
    func finish(etag: String?, source: String, progress: WorkProgress) throws(RingwakeError) -> CallerListMessage {
        progress.begin("sorting", of: nil, unit: .entries)
        sort()
        let begun: ImportMessage = try client.post(
            RequestTarget("lists", list, "import"), CallerListCreation(kind: kind?.rawValue))
        id = begun.id
        progress.begin("sending", of: Int64(starts.count), unit: .entries)
        try sendAll(to: RequestTarget("imports", begun.id), progress)
        // The daemon doesn't report how far it is.
        progress.begin("waiting for the daemon's index of \(starts.count) entries", of: nil, unit: .entries)
        var client = client
        client.timeout = CallerListOptions.changeTimeout
        let list: CallerListMessage = try client.post(
            RequestTarget("imports", begun.id, "finish"), ImportFinish(etag: etag, source: source))
        id = nil
        return list
    }

    /// Cancels the import; the list stays unchanged. Ignores a failure: the daemon drops abandoned imports.
    func abandon() {
        guard let id else { return }
        self.id = nil
        let _: ImportMessage? = try? client.delete(RequestTarget("imports", id))
    }

    /// Sorts by pattern. Entries with the same pattern keep their order, because the last one's label counts.
    private func sort() {
        text.withUnsafeBufferPointer { bytes in
            starts.sort { left, right in
                var (first, second) = (Int(left), Int(right))
                while bytes[first] == bytes[second], bytes[first] > UInt8(ascii: "\n") {
                    first += 1
                    second += 1
                }
                // The end of a pattern, a tab or a newline, is less than any character in one.
                let (one, other) = (bytes[first], bytes[second])
                let areEqual = one <= UInt8(ascii: "\n") && other <= UInt8(ascii: "\n")
                return areEqual ? left < right : one < other
            }
        }
    }

    private func sendAll(to target: RequestTarget, _ progress: WorkProgress) throws(RingwakeError) {
        var piece: [UInt8] = []
        var count = 0
        for start in starts {
            let line = text[Int(start)...].prefix { $0 != UInt8(ascii: "\n") }
            if piece.count + line.count + 1 > CallerListUpload.pieceBytes || count == CallerListUpload.pieceEntries {
                try send(piece, to: target)
                progress.advance(by: count)
                piece.removeAll(keepingCapacity: true)
                count = 0
            }
            piece += line
            piece.append(UInt8(ascii: "\n"))
            count += 1
        }
        if !piece.isEmpty { try send(piece, to: target) }
    }

    private func send(_ piece: [UInt8], to target: RequestTarget) throws(RingwakeError) {
        var client = client
        client.timeout = CallerListUpload.pieceTimeout
        for attempt in 1... {
            do throws(RingwakeError) {
                let _: ImportMessage = try client.post(target, octets: piece)
                return
            } catch {
                guard error.code == .limitReached, attempt < CallerListUpload.tries else { throw error }
                poll(nil, 0, CallerListUpload.pause)
            }
        }
    }
}

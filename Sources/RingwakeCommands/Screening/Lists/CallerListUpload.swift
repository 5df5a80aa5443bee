import ControlProtocol
import Glibc
import RingwakeCore

/// Gives the daemon the new entries of a list, piece by piece, when all of them are there: by pattern, for the daemon's
/// store writes them many times faster in that order. The list stays as it is until the end.
final class CallerListUpload {
    /// How many bytes of entries one request has at most: below the daemon's limit of a body.
    private static let pieceBytes = 48 * 1024
    /// How many entries one request has at most: the daemon keeps a request in one go.
    private static let pieceEntries = 8_000
    /// The most bytes of all entries together, which are held in memory.
    private static let maximumBytes = 512 * 1024 * 1024
    /// How long the daemon may take to keep a piece.
    private static let pieceTimeout = Duration.seconds(60)
    /// How often a piece is tried that the daemon has no room for at the moment, and how long it waits in between.
    private static let (tries, pause) = (50, Int32(200))

    private let client: ControlClient
    private let list: String
    private let kind: CallerListKind?
    private var id: String?
    /// All entries as lines of the request, one behind the other: a million would be too many small strings.
    private var text: [UInt8] = []
    /// Where each line begins.
    private var starts: [UInt32] = []

    /// Nothing is said to the daemon before ``finish(etag:source:)``.
    ///
    /// - Parameter kind: nil: the kind that the list has, or `block`.
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
            // A pattern and a label hold neither tabs nor newlines: `CallerPattern` and `CallerEntry` see to that.
            text += entry.pattern.description.utf8
            if let label = entry.label {
                text.append(UInt8(ascii: "\t"))
                text += label.utf8
            }
            text.append(UInt8(ascii: "\n"))
        }
    }

    /// Replaces the list's entries by those that were added.
    func finish(etag: String?, source: String) throws(RingwakeError) -> CallerListMessage {
        sort()
        let begun: ImportMessage = try client.post(
            RequestTarget("lists", list, "import"), ImportBeginning(kind: kind?.rawValue))
        id = begun.id
        try sendAll(to: RequestTarget("imports", begun.id))
        var client = client
        client.timeout = CallerListOptions.changeTimeout
        let list: CallerListMessage = try client.post(
            RequestTarget("imports", begun.id, "finish"), ImportFinish(etag: etag, source: source))
        id = nil
        return list
    }

    /// Drops what was given to the daemon; the list stays as it was. A failure is the daemon's to clear up.
    func abandon() {
        guard let id else { return }
        self.id = nil
        let _: ImportMessage? = try? client.delete(RequestTarget("imports", id))
    }

    /// By pattern; of several with one pattern in the order that they came, for the last one's label is kept.
    private func sort() {
        text.withUnsafeBufferPointer { bytes in
            starts.sort { left, right in
                var (first, second) = (Int(left), Int(right))
                while bytes[first] == bytes[second], bytes[first] > UInt8(ascii: "\n") {
                    first += 1
                    second += 1
                }
                // What ends a pattern is less than what stands in one.
                let (one, other) = (bytes[first], bytes[second])
                let areEqual = one <= UInt8(ascii: "\n") && other <= UInt8(ascii: "\n")
                return areEqual ? left < right : one < other
            }
        }
    }

    private func sendAll(to target: RequestTarget) throws(RingwakeError) {
        var piece: [UInt8] = []
        var count = 0
        for start in starts {
            let line = text[Int(start)...].prefix { $0 != UInt8(ascii: "\n") }
            if piece.count + line.count + 1 > CallerListUpload.pieceBytes || count == CallerListUpload.pieceEntries {
                try send(piece, to: target)
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

import CallerListFiles
import ControlProtocol
import Glibc
import PushClient
import RingwakeCore

/// One list that is imported: reads its file or URL and gives the daemon what is in it.
struct CallerListImport {
    /// A path, `-` for standard input, or a URL.
    let source: String
    let list: String
    let kind: CallerListKind?
    let format: CallerListFormat
    /// What the source was at the import before; nil to fetch it whatever it is now.
    var validator: String?
    var caFile: String?

    /// What came of it.
    enum Outcome {
        /// The source is the same still, and so is the list.
        case unchanged
        case replaced(CallerListMessage, format: CallerListFormat, problems: CallerListProblems)
    }

    func run(by client: ControlClient, progress: WorkProgress) throws(RingwakeError) -> Outcome {
        let upload = CallerListUpload(client: client, list: list, kind: kind)
        do throws(RingwakeError) {
            return try run(upload, progress: progress)
        } catch {
            progress.end()
            upload.abandon()
            throw error
        }
    }

    private func run(_ upload: CallerListUpload, progress: WorkProgress) throws(RingwakeError) -> Outcome {
        let reading = Reading(format: format, upload: upload, progress: progress)
        var etag: String?
        progress.begin("reading", of: Download.isURL(source) ? nil : InputFile.size(of: source), unit: .bytes)
        if Download.isURL(source) {
            let download = try Download(userAgent: "ringwake/\(ProductVersion.current)", caFile: caFile)
            let result = try download.fetch(source, unlessStill: validator) { piece throws(RingwakeError) in
                try reading.take(piece)
            }
            guard case .fetched(let validator, _) = result else {
                progress.end()
                return .unchanged
            }
            etag = validator
        } else {
            try InputFile.forEachPiece(of: source) { piece throws(RingwakeError) in try reading.take(piece) }
        }
        try reading.finish()
        try check(reading)
        let name = Download.isURL(source) || source == "-" ? source : InputFile.absolute(source)
        let message = try upload.finish(etag: etag, source: name, progress: progress)
        progress.end()
        return .replaced(message, format: reading.reader.format, problems: reading.reader.problems)
    }

    /// A page of an error, or another file than was meant, must not empty a list that works.
    private func check(_ reading: Reading) throws(RingwakeError) {
        let problems = reading.reader.problems
        guard reading.reader.entryCount == 0 || problems.count > reading.reader.entryCount else { return }
        let first = problems.first.first.map { "; line \($0.line): \($0.text)" } ?? ""
        throw RingwakeError(
            .invalidRequest,
            "'\(source)' has \(CallerListText.entries(reading.reader.entryCount)) and \(problems.count) invalid "
                + "lines\(first). The list '\(list)' is unchanged; check the file and the --format")
    }

    /// Feeds a reader and forwards the entries that it finds.
    private final class Reading {
        var reader: CallerListReader
        private let upload: CallerListUpload
        private let progress: WorkProgress
        private var hasBegun = false

        init(format: CallerListFormat, upload: CallerListUpload, progress: WorkProgress) {
            reader = CallerListReader(format: format)
            self.upload = upload
            self.progress = progress
        }

        func take(_ piece: [UInt8]) throws(RingwakeError) {
            if !hasBegun {
                hasBegun = true
                try refusePage(piece)
            }
            try upload.add(try reader.read(piece))
            progress.advance(by: piece.count)
        }

        func finish() throws(RingwakeError) {
            try upload.add(try reader.finish())
        }

        /// What a portal or a server in trouble answers, with status 200: each line of it could be read as a name.
        private func refusePage(_ piece: [UInt8]) throws(RingwakeError) {
            let text = String(decoding: piece.prefix(256), as: UTF8.self).lowercased()
            let beginning = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
            let isPage = ["<!doctype", "<html", "<head", "<?xml"].contains(where: beginning.hasPrefix)
            guard !isPage else {
                throw RingwakeError(
                    .invalidRequest,
                    "the source is a web page or XML, not a list; the list is unchanged. Check the address, and whether "
                        + "a portal requires a sign-in")
            }
        }
    }
}

import ArgumentParser
import CallerListFiles
import ControlProtocol
import PushClient
import RingwakeCore

/// `ringwake block import`
struct BlockImportCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "import", "Replace a list with the contents of a file or a URL.",
        examples: """
            ringwake block import spam.csv --list spam
            ringwake block import contacts.vcf --identify
            sort numbers.txt | ringwake block import - --list own
            ringwake block import https://lists.example/spam.csv --list spam
            ringwake block import --refresh
            ringwake block import --refresh --list spam
            """,
        details: """
            Reads vCard, CSV (a header row with number and name), and plain lists with one
            pattern per line; a number that ends with * is a prefix. Counts and skips
            invalid lines. The list changes only after the whole file was read; if anything
            fails, it stays unchanged.

            --refresh fetches each list from a URL again, unless the server says that it is
            unchanged (ETag). The daemon itself fetches nothing: run this from a timer.
            """)

    @Argument(help: .of("source", "A file, - for standard input, or a URL of http or https."), completion: .file())
    var source: String?

    @OptionGroup var list: CallerListOptions

    @Option(help: .of("format", "The format of the file: vcard, csv or list (default: from its first line)."))
    var format = CallerListFormat.auto

    @Flag(help: "Import only if the source has changed; without a source, refresh all lists imported from a URL.")
    var refresh = false

    @Option(
        name: .customLong("ca"),
        help: .of("file", "Trust the CAs in this PEM file instead of the system's."),
        completion: .file())
    var caFile: String?

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(source != nil || refresh, "Give a file or a URL, or --refresh for the lists from a URL.")
        try require(
            source != nil || !list.identify, "--identify is for a new list; --refresh does not change a list's kind.")
        try require(
            !refresh || source.map(Download.isURL) != false, "--refresh is for URLs; '\(source ?? "")' is a file.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        // libcurl doesn't say whether the file is missing or may not be read.
        if let caFile { _ = try InputFile.read(caFile) }
        let client = control.client(in: context)
        var report = ImportReport()
        for work in try imports(by: client) {
            let progress = WorkProgress(TerminalText.printable(work.list), on: context.errors)
            do throws(RingwakeError) {
                report.add(try work.run(by: client, progress: progress), of: work)
            } catch {
                // If one list can't be fetched, still refresh the others.
                guard source == nil else { throw error }
                report.add(error, of: work)
            }
        }
        context.output.write(wantsJSON ? try JSONText.document(report) : report.text(style: context.style))
        if let failure = report.failure { throw failure }
        return .success
    }

    private func imports(by client: ControlClient) throws(RingwakeError) -> [CallerListImport] {
        if let source {
            var work = CallerListImport(
                source: source, list: list.name, kind: list.kind, format: format, caFile: caFile)
            if refresh {
                let lists: CallerListsMessage = try client.get(RequestTarget("lists"))
                // A validator is only valid for its own source.
                work.validator = lists.lists.first { $0.list == list.name && $0.source == source }?.etag
            }
            return [work]
        }
        let lists: CallerListsMessage = try client.get(RequestTarget("lists"))
        let found = lists.lists.compactMap { known -> CallerListImport? in
            guard let source = known.source, Download.isURL(source), list.named.map({ $0.name == known.list }) ?? true
            else { return nil }
            return CallerListImport(
                source: source, list: known.list, kind: nil, format: format, validator: known.etag, caFile: caFile)
        }
        guard !found.isEmpty else {
            throw RingwakeError(
                .notFound,
                "no list\(list.named.map { " '\($0.name)'" } ?? "") was imported from a URL; 'ringwake block list' "
                    + "shows the sources")
        }
        return found
    }
}

extension CallerListFormat: ExpressibleByArgument {}

internal import Glibc
package import RingwakeCore

/// Builds the index of callers: entries in any order in, one file out that takes the place of the last one as a whole.
///
/// It holds at most about 16 MiB, however many entries come. It belongs to one thread, whichever.
///
///     let builder = try CallerIndexBuilder(replacing: "/var/lib/ringwake/callers", generation: 7, rules: rules)
///     try builder.beginList("spam", kind: .block)
///     try builder.add(CallerEntry(pattern: CallerPattern("+49900*"), label: "Premium numbers"))
///     let summary = try builder.finish()
package final class CallerIndexBuilder {
    private let target: String
    private let file: IndexFile
    private let rules: DiallingRules
    private var header: IndexHeader
    private var strings: SequentialWriter
    private var numbers: SortedRuns?
    private var addresses: SortedRuns?
    private var lists: [(name: String, kind: CallerListKind)] = []
    private var labels: [String: Int] = [:]
    private var entries = 0
    private var isFinished = false

    // Lists say the same of many callers: the last ones of their labels are written once.
    private static let rememberedLabels = 1_024

    /// - Parameters:
    ///   - path: the index; its folder takes the files that the building needs, with names that begin with a dot.
    ///   - generation: any number that tells this state of the lists from others.
    ///   - rules: turn national numbers of the lists into E.164.
    /// - Throws: `system` when the folder cannot be written to.
    package convenience init(
        replacing path: String, generation: UInt64, rules: DiallingRules = .none
    ) throws(RingwakeError) {
        try self.init(replacing: path, generation: generation, rules: rules, recordsPerRun: SortedRuns.recordsPerRun)
    }

    init(
        replacing path: String, generation: UInt64, rules: DiallingRules, recordsPerRun: Int
    ) throws(RingwakeError) {
        target = path
        self.rules = rules
        file = try CallerIndexBuilder.temporaryFile(beside: path)
        header = IndexHeader(
            generation: generation, rules: rules.fingerprint, seed: UInt64.random(in: .min ... .max))
        strings = SequentialWriter(file, at: IndexFormat.blockBytes)
        func runFile() throws(RingwakeError) -> IndexFile {
            let file = try CallerIndexBuilder.temporaryFile(beside: path)
            file.removeName()
            return file
        }
        numbers = SortedRuns(capacity: recordsPerRun, makeFile: runFile)
        addresses = SortedRuns(capacity: recordsPerRun, makeFile: runFile)
    }

    deinit {
        if !isFinished { file.removeName() }
    }

    /// The entries that follow are of this list. Where two lists say something of one caller, the earlier one counts.
    /// - Throws: `limitReached` for more than 256 lists, `invalidRequest` for a name of more than 64 bytes.
    package func beginList(_ name: String, kind: CallerListKind) throws(RingwakeError) {
        guard lists.count < IndexFormat.maximumLists else {
            throw RingwakeError(.limitReached, "there are more than \(IndexFormat.maximumLists) lists of callers")
        }
        guard (1...IndexFormat.maximumNameBytes).contains(name.utf8.count) else {
            throw RingwakeError(
                .invalidRequest,
                "a list's name has 1 to \(IndexFormat.maximumNameBytes) bytes; this has "
                    + "\(name.utf8.count)")
        }
        lists.append((name, kind))
    }

    /// Takes an entry of the list that was begun last.
    /// - Throws: `conflict` without a list, `limitReached` for more than 20,000,000 entries, `system` when the disk
    ///   does not take it.
    package func add(_ entry: CallerEntry) throws(RingwakeError) {
        guard let kind = lists.last?.kind, !isFinished else {
            throw RingwakeError(.conflict, "an entry of the caller index belongs to a list: begin one first")
        }
        guard entries < IndexFormat.maximumEntries else {
            throw RingwakeError(
                .limitReached, "the lists of callers have more than \(IndexFormat.maximumEntries) entries: remove one")
        }
        entries += 1
        let pattern = entry.pattern.applying(rules)
        let list = lists.count - 1
        switch pattern.kind {
        case .exact(let caller) where caller.kind == .number && NumberKey.fits(caller.text):
            guard let key = NumberKey(caller.text) else { return }
            let offset = try offset(ofLabel: entry.label)
            let packed = key.packed(isPrefix: false, kind: kind)
            try numbers?.append(IndexRecord(key: packed, list: list, offset: offset))
        case .numberPrefix(let prefix):
            guard let key = NumberKey(prefix) else { return }
            header.prefixLengths |= key.lengthBit
            let offset = try offset(ofLabel: entry.label)
            let packed = key.packed(isPrefix: true, kind: kind)
            try numbers?.append(IndexRecord(key: packed, list: list, offset: offset))
        case .exact, .domain, .anonymous:
            let text = pattern.description
            let offset = strings.position
            try append(text)
            try append(entry.label ?? "")
            let key = IndexFormat.hash(text, seed: header.seed) & ~1 | kind.bit
            try addresses?.append(IndexRecord(key: key, list: list, offset: offset))
        }
    }

    /// Writes the index, forces it to the disk and puts it in the place of the last one.
    /// - Throws: `system` when that fails; the last index is there as before then.
    @discardableResult
    package func finish() throws(RingwakeError) -> CallerIndexSummary {
        guard !isFinished, let numbers = numbers.take(), let addresses = addresses.take() else {
            throw RingwakeError(.conflict, "the caller index is finished already")
        }
        header.stringBytes = strings.position - header.stringsStart
        var writer = strings
        try writer.align(to: IndexFormat.blockBytes)
        var numberBlocks = BlockWriter(seed: header.seed)
        var lastKey: UInt64?
        try numbers.drain { (record) throws(RingwakeError) in
            // The same number in two lists: the earlier one comes first.
            if record.key != lastKey { try numberBlocks.append(record, to: &writer) }
            lastKey = record.key
        }
        try numberBlocks.finish(&writer)
        var addressBlocks = BlockWriter(seed: ~header.seed)
        try addresses.drain { (record) throws(RingwakeError) in try addressBlocks.append(record, to: &writer) }
        try addressBlocks.finish(&writer)
        (header.numbers, header.addresses, header.lists) = (numberBlocks.count, addressBlocks.count, lists.count)
        let directory = IndexDirectory(
            lists: lists.map { IndexDirectory.List(name: $0.name, kind: $0.kind) },
            firstNumbers: numberBlocks.firstKeys, firstAddresses: addressBlocks.firstKeys)
        let encoded = directory.encoded()
        header.directoryBytes = encoded.count
        header.directoryChecksum = encoded.withUnsafeBytes { IndexFormat.checksum($0, seed: header.seed) }
        try writer.append(encoded)
        try writer.flush()
        var first = SequentialWriter(file, at: 0)
        try first.append(header.encoded())
        try first.flush()
        try file.synchronize()
        try file.rename(to: target)
        isFinished = true
        return CallerIndexSummary(
            entries: header.numbers + header.addresses, lists: lists.count, bytes: header.fileBytes)
    }

    private func offset(ofLabel label: String?) throws(RingwakeError) -> Int {
        guard let label else { return 0 }
        if let known = labels[label] { return known }
        if labels.count >= CallerIndexBuilder.rememberedLabels { labels.removeAll(keepingCapacity: true) }
        let offset = strings.position
        try append(label)
        labels[label] = offset
        return offset
    }

    // Texts are cut where they are made: patterns and labels have at most 256 bytes.
    private func append(_ text: String) throws(RingwakeError) {
        let bytes = text.utf8.prefix(IndexFormat.maximumTextBytes)
        try strings.append(littleEndian: UInt16(bytes.count))
        try strings.append(bytes)
    }

    private static func temporaryFile(beside path: String) throws(RingwakeError) -> IndexFile {
        let directory = IndexFile.directory(of: path)
        let name = path.split(separator: "/").last ?? ""
        let number = UInt64.random(in: .min ... .max)
        return try IndexFile.creating("\(directory)/.\(name).\(getpid()).\(String(number, radix: 36)).tmp")
    }
}

/// What an index holds.
package struct CallerIndexSummary: Hashable, Sendable {
    /// Entries; a number that several lists name counts once for each kind of list.
    package let entries: Int
    package let lists: Int
    /// Bytes of the file.
    package let bytes: Int
}

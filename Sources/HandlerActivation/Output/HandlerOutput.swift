internal import CRingwakeLinux
internal import Glibc
internal import Logging
internal import RunLoop

/// What one handler prints, taken from a file without a name into the daemon's log.
///
/// A file and not a pipe: nothing that happens to the daemon may reach the handler. A write to a pipe whose reader has
/// died kills most programs, and one to a pipe that is full stops them; a write to a file does neither.
///
/// The handler appends to the file, this reads behind it and gives back what it has read (a hole at the front), so the
/// file takes little memory however long the handler runs. Work is bounded per turn, lines per second, and what
/// gathers faster than it is read is left out, with a line that says so.
final class HandlerOutput {
    /// Bytes read in one turn.
    static let chunkBytes: Int = 65_536
    /// What gathers beyond this is left out, save the last chunk.
    static let maximumBacklogBytes: Int = 1_048_576
    /// Bytes given back at once.
    static let freeingStepBytes: Int = 65_536
    /// The size of a page: holes are made of whole ones.
    static let pageBytes: Int = 4_096
    /// How often a handler that prints too fast is looked at while its lines are suppressed.
    static let suppressedInterval: Duration = .milliseconds(20)
    /// Chunks read when the last writer has gone.
    static let maximumFinalChunks = 4

    /// -1 when it is closed.
    private var descriptor: Int32
    private let runLoop: RunLoop
    private var logger: Logger
    private var offset = 0
    private var freedTo = 0
    private var splitter = LineSplitter()
    private var budget: LineBudget
    private var suppressedLines = 0
    private var skippedBytes = 0
    private var nextPump: Timer?
    private(set) var isMuted = false
    /// Told when this wants no more events for new bytes (true), or wants them again.
    var onMute: ((Bool) -> Void)?

    /// - Parameter descriptor: Open for reading and writing; closed by `finish`.
    init(descriptor: Int32, runLoop: RunLoop, logger: Logger) {
        self.descriptor = descriptor
        self.runLoop = runLoop
        self.logger = logger
        budget = LineBudget(at: runLoop.now)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Names the process in every line from now on.
    func identify(app: String, call: String, pid: Int32) {
        logger[metadataKey: "app"] = "\(app)"
        logger[metadataKey: "call"] = "\(LogText.harmless(call))"
        logger[metadataKey: "pid"] = "\(pid)"
        logger[metadataKey: "stream"] = "output"
    }

    /// New bytes may be there.
    func bytesArrived() {
        if nextPump == nil { pump() }
    }

    /// Logs what is left, a last line without an end too, and closes. Nothing comes afterwards.
    func finish() {
        if let nextPump { runLoop.cancel(nextPump) }
        nextPump = nil
        var chunks = 1
        while readChunk(), chunks < Self.maximumFinalChunks { chunks += 1 }
        skippedBytes += max(0, size() - offset)
        flush(isCut: false)
        reportOmissions()
        close(descriptor)
        descriptor = -1
    }

    private func pump() {
        nextPump = nil
        // Before the lines that a budget which has just opened lets through.
        if budget.isOpen(at: runLoop.now) { reportOmissions() }
        let hasMore = readChunk()
        if budget.isOpen(at: runLoop.now) {
            let wasMuted = isMuted
            mute(false)
            // What came between the read and the end of the silence made no event.
            if hasMore || wasMuted { schedulePump(after: .zero) }
        } else {
            mute(true)
            schedulePump(after: Self.suppressedInterval)
        }
    }

    private func schedulePump(after delay: Duration) {
        // A timer even for "at once": the other sources get their turn in between.
        nextPump = runLoop.schedule(at: runLoop.now.advanced(by: delay), tolerance: delay) { [weak self] in
            self?.pump()
        }
    }

    private func mute(_ isOn: Bool) {
        guard isOn != isMuted else { return }
        isMuted = isOn
        onMute?(isOn)
    }

    private func size() -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_size : offset
    }

    /// Reads and logs one chunk. True when there is more.
    private func readChunk() -> Bool {
        let size = size()
        if size < offset {
            // `echo > /dev/stderr` in a shell empties the file.
            offset = 0
            freedTo = 0
        }
        if size - offset > Self.maximumBacklogBytes { skip(to: size - Self.chunkBytes) }
        let wanted = min(size - offset, Self.chunkBytes)
        guard wanted > 0 else { return false }
        let count = withUnsafeTemporaryAllocation(byteCount: wanted, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, offset)
            if count > 0 { log(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
            return count
        }
        guard count > 0 else { return false }
        offset += count
        if offset - freedTo >= Self.freeingStepBytes { free() }
        return offset < size
    }

    private func skip(to newOffset: Int) {
        flush(isCut: true)
        skippedBytes += newOffset - offset
        offset = newOffset
        free()
    }

    private func free() {
        let end = offset / Self.pageBytes * Self.pageBytes
        // A file system that cannot do this keeps what was read until the handler ends.
        _ = ringwake_punch_hole(descriptor, freedTo, end - freedTo)
        freedTo = end
    }

    private func log(_ bytes: UnsafeRawBufferPointer) {
        suppressedLines +=
            budget.isOpen(at: runLoop.now) ? splitter.consume(bytes, take) : splitter.pass(bytes[...])
    }

    private func flush(isCut: Bool) {
        if !splitter.flush(isCut: isCut, take) { suppressedLines += 1 }
    }

    private func take(_ line: LineSplitter.Line) -> Bool {
        guard budget.admitsLine(at: runLoop.now) else { return false }
        logger.info("\(LogText.harmless(line.bytes))\(line.isCut ? " [line cut]" : "")")
        return true
    }

    private func reportOmissions() {
        if suppressedLines > 0 {
            logger.warning("\(suppressedLines) lines suppressed: the handler prints faster than the log takes them")
            suppressedLines = 0
        }
        if skippedBytes > 0 {
            logger.warning("\(skippedBytes) bytes skipped: the handler prints faster than its output is read")
            skippedBytes = 0
        }
    }
}

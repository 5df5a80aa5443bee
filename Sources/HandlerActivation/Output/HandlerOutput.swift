internal import CRingwakeLinux
internal import Glibc
internal import Logging
internal import RunLoop

/// Copies the output of one handler from an unnamed file to the daemon's log.
///
/// It is a file, not a pipe, so that nothing that happens to the daemon affects the handler. Writing to a pipe without
/// a reader kills most programs, and writing to a full pipe blocks; writing to a file does neither.
///
/// The handler appends to the file. The daemon reads it and frees what it has read (a hole at the front), so the file
/// takes little memory however long the handler runs. The work per turn and the lines per second are limited. If output
/// arrives faster than it is read, part of it is skipped, and a log line says so.
final class HandlerOutput {
    /// Bytes read in one turn.
    static let chunkBytes: Int = 65_536
    /// Maximum unread bytes. More are skipped, except the last chunk.
    static let maximumBacklogBytes: Int = 1_048_576
    /// Number of read bytes that are freed at once.
    static let freeingStepBytes: Int = 65_536
    /// Page size: only whole pages can be freed.
    static let pageBytes: Int = 4_096
    /// Polling interval of a handler that prints too fast, while its lines are suppressed.
    static let suppressedInterval: Duration = .milliseconds(20)
    /// Maximum chunks read after the last writer has closed the file.
    static let maximumFinalChunks = 4

    /// -1 if closed.
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
    /// Called with true when no events for new bytes are wanted, and with false when they are wanted again.
    var onMute: ((Bool) -> Void)?

    /// - Parameter descriptor: open for reading and writing; `finish` closes it.
    init(descriptor: Int32, runLoop: RunLoop, logger: Logger) {
        self.descriptor = descriptor
        self.runLoop = runLoop
        self.logger = logger
        budget = LineBudget(at: runLoop.now)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Adds the app, call and process to every line from now on.
    func identify(app: String, call: String, pid: Int32) {
        logger[metadataKey: "app"] = "\(app)"
        logger[metadataKey: "call"] = "\(LogText.harmless(call))"
        logger[metadataKey: "pid"] = "\(pid)"
        logger[metadataKey: "stream"] = "output"
    }

    /// Reads new bytes, if there are any.
    func bytesArrived() {
        if nextPump == nil { pump() }
    }

    /// Logs the rest, including a last line without a line end, and closes the file.
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
        // Report omissions before the lines that a newly open budget admits.
        if budget.isOpen(at: runLoop.now) { reportOmissions() }
        let hasMore = readChunk()
        if budget.isOpen(at: runLoop.now) {
            let wasMuted = isMuted
            mute(false)
            // Bytes that arrived after the read, while events were off, caused no event.
            if hasMore || wasMuted { schedulePump(after: .zero) }
        } else {
            mute(true)
            schedulePump(after: Self.suppressedInterval)
        }
    }

    private func schedulePump(after delay: Duration) {
        // Use a timer even for zero delay, so that other sources get their turn in between.
        nextPump = runLoop.schedule(at: runLoop.now.advanced(by: delay), tolerance: delay, wakingFromSuspend: false) {
            [weak self] in
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

    /// Reads and logs one chunk. Returns whether there is more.
    private func readChunk() -> Bool {
        let size = size()
        if size < offset {
            // `echo > /dev/stderr` in a shell truncates the file.
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
        // If the file system can't punch holes, the file keeps its size until the handler ends.
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

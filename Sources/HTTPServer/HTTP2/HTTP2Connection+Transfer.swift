import Cryptography
import Logging
import RunLoop

extension HTTP2Connection {
    /// Reads up to the limit of a turn, and passes the bytes to the session.
    func read() {
        var budget = HTTP2Connection.maximumReadBytesPerTurn
        while let tls, let session {
            guard budget > 0 else { return readMoreNextTurn() }
            switch tls.read(into: shared.input.bytes) {
            case .bytes(let count):
                budget -= count
                receive(UnsafeRawBufferPointer(rebasing: shared.input.bytes[..<count]), session)
            case .wantsRead:
                inputWaitsFor = .read
                return
            case .wantsWrite:
                inputWaitsFor = .write
                return
            case .closed:
                // The client may have closed only its sending direction, so it still gets its answers.
                send()
                return close()
            case .failed(let reason):
                log("a connection broke", reason)
                // With TLS 1.3 a client refuses the server's certificate after the server's handshake is done.
                if stage.isBeginning { fail(.init(openSSL: reason), reason) }
                return close()
            }
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer, _ session: HTTP2Session) {
        if let reason = session.receive(bytes) {
            log("a connection does not speak HTTP/2 as it should", reason)
            if stage.isBeginning { fail(.notHTTP2, reason) }
            send()
            return linger()
        }
        if let refusal {
            self.refusal = nil
            refuse(refusal)
        }
    }

    /// OpenSSL may hold decrypted bytes, which epoll doesn't report. Use a timer: it fires after the other connections'
    /// turn, whereas enqueued work would run before it.
    private func readMoreNextTurn() {
        inputWaitsFor = .read
        guard !isReadScheduled else { return }
        isReadScheduled = true
        shared.runLoop.schedule(at: shared.runLoop.now, tolerance: .zero) {
            self.isReadScheduled = false
            guard self.outputWaitsFor.isEmpty, self.session != nil else { return }
            self.read()
            self.flush()
        }
    }

    /// Sends the session's output later in this turn, so that the answers of one turn are sent together.
    func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        shared.runLoop.enqueue {
            self.isFlushScheduled = false
            // A blocked socket becomes ready by itself.
            if self.outputWaitsFor.isEmpty {
                self.flush()
            }
        }
    }

    /// Sends all output, then waits for what is due next.
    func flush() {
        send()
        guard let session else { return }
        if let refusal {
            self.refusal = nil
            return refuse(refusal)
        }
        if outputWaitsFor.isEmpty {
            if case .draining = stage, session.streams.isEmpty { return finish() }
            if session.isFinished { return linger() }
            // GOAWAY has to be sent first.
            if drainIfRetired() { return scheduleFlush() }
        }
        watch(outputWaitsFor.isEmpty ? inputWaitsFor : outputWaitsFor)
    }

    /// Sends until nothing is left or the socket accepts no more.
    func send() {
        outputWaitsFor = []
        while let tls, let session {
            if !unsent.isEmpty {
                // A second reference: closing the connection empties `unsent` during the write.
                let bytes = unsent
                let written = bytes.withUnsafeBytes { write($0, tls) }
                guard written == bytes.count else { return keepUnsent(Array(bytes[written...])) }
                unsent = []
            }
            guard let count = session.produce(into: shared.output.bytes) else {
                log("a connection is closed", "an answer has a frame that is too large")
                return close()
            }
            guard count > 0 else {
                outputDeadline = nil
                return
            }
            let chunk = UnsafeRawBufferPointer(rebasing: shared.output.bytes[..<count])
            let written = write(chunk, tls)
            guard written == count else { return keepUnsent(Array(chunk[written...])) }
        }
    }

    private func keepUnsent(_ bytes: [UInt8]) {
        if session != nil {
            unsent = bytes
        }
    }

    /// Writes until TLS accepts no more. Closes a broken connection.
    ///
    /// - Returns: the number of bytes that TLS accepted.
    private func write(_ bytes: UnsafeRawBufferPointer, _ tls: TLSConnection) -> Int {
        var written = 0
        while written < bytes.count {
            switch tls.write(UnsafeRawBufferPointer(rebasing: bytes[written...])) {
            case .bytes(let count):
                written += count
            case .wantsRead:
                outputIsBlocked(until: .read)
                return written
            case .wantsWrite:
                outputIsBlocked(until: .write)
                return written
            case .closed:
                close()
                return written
            case .failed(let reason):
                log("a connection broke", reason)
                close()
                return written
            }
        }
        return written
    }

    private func outputIsBlocked(until interest: Interest) {
        outputWaitsFor = interest
        if outputDeadline == nil {
            let deadline = shared.runLoop.now.advanced(by: shared.limits.writeDeadline)
            outputDeadline = deadline
            require(deadline)
        }
    }
}

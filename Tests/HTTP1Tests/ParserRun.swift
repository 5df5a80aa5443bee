import HTTP1

/// Everything a parser gave for some bytes: the messages and, if it failed, the error.
struct RequestRun: Equatable {
    var requests: [HTTP1Request] = []
    var error: HTTP1Error?

    /// Parses the pieces one after the other.
    init(_ pieces: [ArraySlice<UInt8>], limits: HTTP1Limits = HTTP1Limits()) {
        var parser = HTTP1RequestParser(limits: limits)
        for piece in pieces {
            parser.consume(piece)
            do {
                while let request = try parser.next() {
                    requests.append(request)
                }
            } catch {
                self.error = error
                return
            }
        }
    }

    init(_ text: String, limits: HTTP1Limits = HTTP1Limits()) {
        self.init([Array(text.utf8)[...]], limits: limits)
    }
}

/// The same for a response: events with the pieces of the body joined, because these may be split anywhere.
struct ResponseRun: Equatable {
    var head: HTTP1ResponseHead?
    var body: [UInt8] = []
    var hasEnded = false
    var error: HTTP1Error?

    init(
        _ pieces: [ArraySlice<UInt8>], method: String = "GET", limits: HTTP1Limits = HTTP1Limits(),
        isClosed: Bool = true
    ) {
        var parser = HTTP1ResponseParser(requestMethod: method, limits: limits)
        do throws(HTTP1Error) {
            for piece in pieces {
                parser.consume(piece)
                while let event = try parser.next() { take(event) }
            }
            if isClosed, let event = try parser.connectionClosed() { take(event) }
        } catch {
            self.error = error
        }
    }

    init(_ text: String, method: String = "GET", limits: HTTP1Limits = HTTP1Limits(), isClosed: Bool = true) {
        self.init([Array(text.utf8)[...]], method: method, limits: limits, isClosed: isClosed)
    }

    private mutating func take(_ event: HTTP1ResponseEvent) {
        switch event {
        case .head(let head): self.head = head
        case .body(let piece): body += piece
        case .end: hasEnded = true
        }
    }
}

/// A small generator with a seed, so that a failure can be repeated (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

import RingwakeCore

/// The copy of the store that somebody waits for: one at a time.
struct CopyRequest {
    private var progress: ((Int) -> Void)?
    private var completion: ((Result<Void, RingwakeError>) -> Void)?

    /// Whether somebody waits.
    var isOpen: Bool { completion != nil }

    mutating func open(
        progress: @escaping (Int) -> Void, completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) {
        (self.progress, self.completion) = (progress, completion)
    }

    func report(percent: Int) { progress?(percent) }

    /// Nobody waits any more.
    /// - Returns: who is to be told of the end.
    mutating func close() -> ((Result<Void, RingwakeError>) -> Void)? {
        defer { (progress, completion) = (nil, nil) }
        return completion
    }
}

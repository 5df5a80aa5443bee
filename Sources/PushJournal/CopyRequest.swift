import RingwakeCore

/// The copy of the store that somebody waits for: one at a time.
struct CopyRequest {
    /// Of the newest request. Answers of one that was given up may still arrive.
    private var number: UInt64 = 0
    private var progress: ((Int) -> Void)?
    private var completion: ((Result<Void, RingwakeError>) -> Void)?

    /// Whether somebody waits.
    var isOpen: Bool { completion != nil }

    /// - Returns: the number of the request.
    mutating func open(
        progress: @escaping (Int) -> Void, completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) -> UInt64 {
        number += 1
        (self.progress, self.completion) = (progress, completion)
        return number
    }

    func report(percent: Int, of number: UInt64) {
        if number == self.number { progress?(percent) }
    }

    /// Ends the request with this number.
    /// - Returns: who is to be told of the end.
    mutating func close(_ number: UInt64) -> ((Result<Void, RingwakeError>) -> Void)? {
        number == self.number ? close() : nil
    }

    /// Nobody waits any more.
    /// - Returns: who is to be told of the end.
    mutating func close() -> ((Result<Void, RingwakeError>) -> Void)? {
        defer { (progress, completion) = (nil, nil) }
        return completion
    }
}

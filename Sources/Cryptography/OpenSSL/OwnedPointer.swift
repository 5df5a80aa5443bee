import RingwakeCore

/// Owns one object of OpenSSL and frees it exactly once, when the owner goes away.
///
/// The pointer may be used as long as the owner lives. A noncopyable value lives to the end of its scope, also
/// when it is optimized; an object does not, which is why classes lend theirs with `withPointer`.
struct OwnedPointer: ~Copyable {
    /// The function of OpenSSL that drops one reference.
    typealias Free = @convention(c) (OpaquePointer?) -> Void

    /// The object.
    let pointer: OpaquePointer
    private let free: Free

    /// Takes ownership of one reference; `nil`, which is how OpenSSL fails, is an error that names the operation.
    init(_ pointer: OpaquePointer?, freedBy free: Free, operation: String) throws(RingwakeError) {
        guard let pointer else { throw .openSSL(operation) }
        self.pointer = pointer
        self.free = free
    }

    /// Takes ownership of one reference; `nil` when OpenSSL returned none.
    init?(_ pointer: OpaquePointer?, freedBy free: Free) {
        guard let pointer else { return nil }
        self.pointer = pointer
        self.free = free
    }

    deinit {
        free(pointer)
    }
}

/// Memory that all connections of a listener read into, or write from, one after the other.
///
/// So a connection that is idle holds no buffer.
nonisolated final class ScratchBuffer {
    let bytes: UnsafeMutableRawBufferPointer

    init(byteCount: Int) {
        bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
    }

    deinit {
        bytes.deallocate()
    }
}

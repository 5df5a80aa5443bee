/// A buffer that all connections of a listener share, one at a time, so that an idle connection holds none.
nonisolated final class ScratchBuffer {
    let bytes: UnsafeMutableRawBufferPointer

    init(byteCount: Int) {
        bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
    }

    deinit {
        bytes.deallocate()
    }
}

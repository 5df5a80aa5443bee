import CRingwakeNGHTTP2
import Glibc

/// The memory of one nghttp2 session, which keeps a buffer for the largest frame (16 KiB) as long as it lives.
///
/// The answers of a push fill a hundred bytes of that buffer. So it is mapped: pages that were never touched take no
/// memory, while malloc(3) gives out memory that others have touched. All other memory is malloc's.
///
/// An object of this class must outlive its session.
nonisolated final class HTTP2Memory {
    /// For `nghttp2_session_server_new3`, which copies them.
    var functions: nghttp2_mem
    /// Where the buffer is mapped; nil if it isn't. The functions get this address.
    private let buffer: UnsafeMutablePointer<UnsafeMutableRawPointer?>

    /// One allocation of at least this size is mapped.
    static let leastMappedBytes = 16_384
    private static let mappedBytes = 20_480

    init() {
        buffer = .allocate(capacity: 1)
        buffer.initialize(to: nil)
        functions = nghttp2_mem(
            mem_user_data: buffer,
            malloc: { HTTP2Memory.allocate($0, $1) },
            free: { HTTP2Memory.free($0, $1) },
            calloc: { count, size, _ in Glibc.calloc(count, size) },
            realloc: { HTTP2Memory.resize($0, $1, $2) })
    }

    deinit {
        buffer.deallocate()
    }

    private static func slot(
        _ userData: UnsafeMutableRawPointer?
    ) -> UnsafeMutablePointer<UnsafeMutableRawPointer?>? {
        userData?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
    }

    private static func allocate(_ size: Int, _ userData: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard size >= leastMappedBytes, size <= mappedBytes, let slot = slot(userData), slot.pointee == nil,
            let mapped = map()
        else { return malloc(size) }
        slot.pointee = mapped
        return mapped
    }

    /// Zeroed pages of the usual size: huge ones would be touched as a whole. Nil if there is no room.
    private static func map() -> UnsafeMutableRawPointer? {
        let mapped = mmap(nil, mappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        // MAP_FAILED, which is not imported.
        guard let mapped, mapped != UnsafeMutableRawPointer(bitPattern: -1) else { return nil }
        madvise(mapped, mappedBytes, Int32(MADV_NOHUGEPAGE))
        return mapped
    }

    private static func free(_ pointer: UnsafeMutableRawPointer?, _ userData: UnsafeMutableRawPointer?) {
        guard let pointer, let slot = slot(userData), slot.pointee == pointer else { return Glibc.free(pointer) }
        slot.pointee = nil
        munmap(pointer, mappedBytes)
    }

    private static func resize(
        _ pointer: UnsafeMutableRawPointer?, _ size: Int, _ userData: UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer? {
        guard let pointer, slot(userData)?.pointee == pointer else { return realloc(pointer, size) }
        guard let moved = malloc(size) else { return nil }
        moved.copyMemory(from: pointer, byteCount: min(size, mappedBytes))
        free(pointer, userData)
        return moved
    }
}

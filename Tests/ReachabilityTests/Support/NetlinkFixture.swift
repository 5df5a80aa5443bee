import Glibc

@testable import Reachability

/// A datagram of the kernel, captured by `Tests/Fixtures/netlink/capture.py`.
enum NetlinkFixture {
    private static let folder: String = {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        return parts.joined(separator: "/") + "/Fixtures/netlink/"
    }()

    /// The names of all.
    static let names: [String] = {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".hex") { names.append(String(name.dropLast(4))) }
        }
        return names.sorted()
    }()

    /// The bytes of one; empty when there is no such file.
    static func bytes(_ name: String) -> [UInt8] {
        guard let file = fopen(folder + name + ".hex", "re") else { return [] }
        defer { fclose(file) }
        var text = [UInt8](repeating: 0, count: 65_536)
        let length = fread(&text, 1, text.count, file)
        let lines = text[..<length].split(separator: 0x0a).filter { $0.first != 0x23 }
        let digits = String(decoding: lines.joined(), as: UTF8.self)
        var bytes: [UInt8] = []
        var rest = digits[...]
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return [] }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// The events of a datagram.
    static func events(_ bytes: [UInt8]) -> KernelEvents {
        var events = KernelEvents()
        bytes.withUnsafeBytes { events.add($0) }
        return events
    }
}

/// Memory behind which nothing can be read: one byte beyond it is a segmentation fault.
final class GuardedMemory {
    private static let usableBytes = 64 << 10
    private let start: UnsafeMutableRawPointer
    private let page = sysconf(Int32(_SC_PAGESIZE))

    init() throws {
        let size = Self.usableBytes + page
        guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { throw CommandFailure.system("mmap", errno) }
        start = memory
        guard mprotect(memory + Self.usableBytes, page, PROT_NONE) == 0 else {
            throw CommandFailure.system("mprotect", errno)
        }
    }

    deinit { munmap(start, Self.usableBytes + page) }

    /// The bytes, at the very end of what can be read. They are there until the next are placed.
    func place(_ bytes: ArraySlice<UInt8>) -> UnsafeRawBufferPointer {
        let place = start + (Self.usableBytes - bytes.count)
        _ = bytes.withUnsafeBytes { source in
            source.baseAddress.map { place.copyMemory(from: $0, byteCount: source.count) }
        }
        return UnsafeRawBufferPointer(start: place, count: bytes.count)
    }
}

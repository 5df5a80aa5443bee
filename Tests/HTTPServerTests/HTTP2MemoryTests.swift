import CRingwakeNGHTTP2
import Glibc
import Testing

@testable import HTTPServer

@Suite struct HTTP2MemoryTests {
    private func allocate(_ size: Int, _ memory: HTTP2Memory) throws -> UnsafeMutableRawPointer {
        try #require(memory.functions.malloc(size, memory.functions.mem_user_data))
    }

    private func free(_ pointer: UnsafeMutableRawPointer?, _ memory: HTTP2Memory) {
        memory.functions.free(pointer, memory.functions.mem_user_data)
    }

    /// How many pages from this one on are in memory (mincore(2)); nil if the range isn't mapped.
    private func residentPages(_ pointer: UnsafeMutableRawPointer, _ count: Int) -> Int? {
        var pages = [UInt8](repeating: 0, count: count)
        guard mincore(pointer, count * 4096, &pages) == 0 else { return nil }
        return pages.count { $0 & 1 == 1 }
    }

    @Test("The buffer of frames takes only the pages that were touched, and is unmapped at its end")
    func frameBuffer() throws {
        let memory = HTTP2Memory()
        let buffer = try allocate(16_394, memory)
        #expect(residentPages(buffer, 5) == 0)
        buffer.storeBytes(of: 7, as: UInt8.self)
        #expect(residentPages(buffer, 5) == 1)
        free(buffer, memory)
        #expect(residentPages(buffer, 5) == nil && errno == ENOMEM)
    }

    @Test("Other sizes, and a second buffer, are malloc's, and whatever is resized keeps its bytes")
    func others() throws {
        let memory = HTTP2Memory()
        let buffer = try allocate(16_394, memory)
        let others = try [1, 16_383, 16_394, 20_481, 1 << 20].map { try allocate($0, memory) }
        for pointer in others { pointer.storeBytes(of: 9, as: UInt8.self) }
        buffer.initializeMemory(as: UInt8.self, repeating: 42, count: 16_394)
        let larger = try #require(memory.functions.realloc(buffer, 40_000, memory.functions.mem_user_data))
        #expect((0..<16_394).allSatisfy { larger.load(fromByteOffset: $0, as: UInt8.self) == 42 })
        let smaller = try #require(memory.functions.realloc(others[4], 10, memory.functions.mem_user_data))
        #expect(smaller.load(as: UInt8.self) == 9)
        let zeroed = try #require(memory.functions.calloc(10, 10, memory.functions.mem_user_data))
        #expect((0..<100).allSatisfy { zeroed.load(fromByteOffset: $0, as: UInt8.self) == 0 })
        for pointer in [larger, smaller, zeroed] + others[..<4] { free(pointer, memory) }
        free(nil, memory)
        // Its place is free again.
        let next = try allocate(16_394, memory)
        #expect(residentPages(next, 5) == 0)
        free(next, memory)
    }
}

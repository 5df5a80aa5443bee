/// SplitMix64: the same numbers for the same seed, so that a failing round can be run again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// Between one byte and `maximum` of them.
    mutating func bytes(upTo maximum: Int) -> [UInt8] {
        (0..<Int.random(in: 1...maximum, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    /// `bytes` with one to `maximum` of them replaced.
    mutating func mutate(_ bytes: [UInt8], upTo maximum: Int) -> [UInt8] {
        var mutated = bytes
        for _ in 0..<Int.random(in: 1...maximum, using: &self) {
            mutated[Int.random(in: mutated.indices, using: &self)] = UInt8.random(in: 0...255, using: &self)
        }
        return mutated
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

import Glibc

// The two functions that libFuzzer's main calls (https://llvm.org/docs/LibFuzzer.html). With a name in RINGWAKE_FUZZ it
// fuzzes that harness, and starts this program again to merge. Otherwise the first argument says what to do:
//
// list                 the harnesses: name, maximum bytes of an input, whether inputs hold private keys
// made NAME FOLDER     writes the inputs that the harness makes
// check NAME FILE...   runs the harness over files, and prints what does not hold

@_cdecl("LLVMFuzzerInitialize")
nonisolated func initialize(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> Int32 {
    MainActor.assumeIsolated { Program.start() }
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
nonisolated func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    // libFuzzer calls this from the main thread.
    MainActor.assumeIsolated { Program.test(input) }
    return 0
}

enum Program {
    /// The harness that libFuzzer runs.
    private static var running: Harness?

    static func start() {
        if let name = getenv("RINGWAKE_FUZZ") {
            running = harness(String(cString: name))
            return
        }
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.first, arguments.count) {
        case ("list", 1):
            for harness in Harness.all { print(harness.name, harness.maximumBytes, harness.holdsKeys ? "keys" : "-") }
        case ("made", 3): make(arguments[1], into: arguments[2])
        case ("check", 3...): check(arguments[1], Array(arguments[2...]))
        default: fail("list, made NAME FOLDER, check NAME FILE...")
        }
        exit(0)
    }

    static func test(_ input: [UInt8]) {
        do {
            _ = try running?.run(input)
        } catch {
            complain("\(error)")
            abort()
        }
    }

    private static func make(_ name: String, into folder: String) {
        do {
            for (index, input) in try harness(name).made().enumerated() {
                write(input, to: "\(folder)/made-\(index + 1)")
            }
        } catch {
            fail("\(error)")
        }
    }

    private static func check(_ name: String, _ paths: [String]) {
        var isBroken = false
        for path in paths {
            do {
                print("\(path): \(try harness(name).run(read(path)) ? "accepted" : "refused")")
            } catch {
                print("\(path): \(error)")
                isBroken = true
            }
        }
        exit(isBroken ? 1 : 0)
    }

    private static func harness(_ name: String) -> Harness {
        guard let found = Harness.named(name) else { fail("there is no harness '\(name)'") }
        return found
    }

    private static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { fail("\(path) cannot be opened") }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&buffer, 1, buffer.count, file)
        return Array(buffer.prefix(count))
    }

    private static func write(_ bytes: [UInt8], to path: String) {
        guard let file = fopen(path, "w"), fwrite(bytes, 1, bytes.count, file) == bytes.count, fclose(file) == 0 else {
            fail("\(path) cannot be written")
        }
    }

    private static func complain(_ message: String) {
        let bytes = Array("fuzz: \(message)\n".utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }

    private static func fail(_ message: String) -> Never {
        complain(message)
        exit(1)
    }
}

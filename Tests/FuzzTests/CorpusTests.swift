import FoundationEssentials
import Testing

/// Runs what fuzzing found worth keeping over the code of today. `Tests/lab/fuzz/run` looks for more.
@Suite(.serialized) struct CorpusTests {
    @Test("Every input of the corpus keeps what has to hold, and some of each are accepted and some refused")
    func corpus() throws {
        for harness in Harness.all {
            var verdicts: Set<Bool> = []
            for (label, input) in try inputs(of: harness) {
                do {
                    verdicts.insert(try harness.run(input))
                } catch {
                    Issue.record("\(harness.name), \(label): \(error)")
                }
            }
            // Else the corpus does not reach the code behind the first check.
            #expect(verdicts == [false, true], "\(harness.name): all are accepted, or all are refused")
        }
    }

    @Test("The empty input, and each beginning of the shortest inputs, are read")
    func beginnings() throws {
        for harness in Harness.all {
            for (label, input) in try inputs(of: harness).sorted(by: { $0.1.count < $1.1.count }).prefix(3) {
                for count in stride(from: 0, to: input.count, by: max(1, input.count / 64)) {
                    do {
                        _ = try harness.run(Array(input.prefix(count)))
                    } catch {
                        Issue.record("\(harness.name), the first \(count) bytes of \(label): \(error)")
                    }
                }
            }
        }
    }

    @Test("The corpus is small, and belongs to harnesses that there are")
    func folders() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }
        #expect(Set(names).isSubset(of: Set(Harness.all.map(\.name))))
        var total = 0
        for harness in Harness.all {
            let files = try files(of: harness)
            #expect(files.isEmpty || !harness.holdsKeys, "\(harness.name): its inputs may hold private keys")
            for (label, input) in files {
                #expect(input.count <= harness.maximumBytes, "\(harness.name), \(label): longer than fuzzing reads")
                total += input.count
            }
        }
        #expect(total < 400_000)
    }

    private let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/fuzz")

    private func files(of harness: Harness) throws -> [(String, [UInt8])] {
        let folder = folder.appending(path: harness.name)
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else { return [] }
        return try names.sorted().map { ($0, Array(try Data(contentsOf: folder.appending(path: $0)))) }
    }

    private func inputs(of harness: Harness) throws -> [(String, [UInt8])] {
        let made = try harness.made().enumerated().map { ("made \($0.offset + 1)", $0.element) }
        return try files(of: harness) + made + [("nothing", [])]
    }
}

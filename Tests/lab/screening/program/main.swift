// The lists of callers under load. Each command prints one JSON object.
//
//     lists make COUNT FILE             writes COUNT entries, sorted: `list<TAB>pattern<TAB>label` a line
//     lists build FILE INDEX            builds the index of them, which come in that order as from the journal
//     lists import FILE                 reads the patterns and labels as `ringwake block import` does
//     lists look-up FILE INDEX COUNT    looks callers up, COUNT of each kind
import CallerListFiles
import FileSystem
import Glibc
import PushJournal
import RingwakeCore

/// Numbers that look like none of a plan, and are the same in each run.
func scrambled(_ number: Int) -> UInt64 {
    var value = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
}

/// Of 1000 entries: 590 blocked numbers, 1 prefix, 9 addresses, and 400 numbers with a name.
func entry(_ number: Int) -> (list: String, pattern: String, label: String) {
    let digits = scrambled(number) % 10_000_000_000
    switch number % 1_000 {
    case 0: return ("spam", "+49900\(digits % 100_000)*", "Premium")
    case 1..<10: return ("spam", "user\(digits)@host\(digits % 5_000).example", "")
    case 10..<600: return ("spam", "+491\(digits)", "")
    default: return ("names", "+492\(digits)", "Company \(digits % 1_000_000)")
    }
}

func lines(of path: String) throws -> [Substring] {
    let bytes = try FileSystem.read(path, maximumSize: 1 << 30)
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
}

/// Calls `body` with each line of a file, of which it holds a piece at a time.
func eachPiece(of path: String, _ body: ([UInt8]) throws -> Void) throws {
    guard let file = fopen(path, "r") else { return }
    defer { fclose(file) }
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = fread(&piece, 1, piece.count, file)
        guard count > 0 else { return }
        try body(Array(piece[..<count]))
    }
}

/// Seconds of a clock; of `CLOCK_PROCESS_CPUTIME_ID` those that this process had a processor.
func now(_ clock: clockid_t = CLOCK_MONOTONIC) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// A line of /proc/self/status, in KiB: `VmHWM` is the peak of the resident memory, `VmRSS` the memory now.
func memory(_ name: String) throws -> Int {
    let status = String(decoding: try FileSystem.read("/proc/self/status", maximumSize: 65_536), as: UTF8.self)
    let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
    return Int(line.filter(\.isNumber)) ?? 0
}

func build(_ path: String, _ index: String) throws {
    let (start, cpu, before) = (now(), now(CLOCK_PROCESS_CPUTIME_ID), try memory("VmRSS"))
    let builder = try CallerIndexBuilder(replacing: index, generation: 1)
    var (list, rest) = ("", [UInt8]())
    try eachPiece(of: path) { piece in
        rest += piece
        var begin = 0
        while let end = rest[begin...].firstIndex(of: UInt8(ascii: "\n")) {
            let parts = String(decoding: rest[begin..<end], as: UTF8.self)
                .split(separator: "\t", omittingEmptySubsequences: false)
            if parts[0] != list {
                list = String(parts[0])
                try builder.beginList(list, kind: list == "spam" ? .block : .identify)
            }
            try builder.add(CallerEntry(pattern: CallerPattern(String(parts[1])), label: String(parts[2])))
            begin = end + 1
        }
        rest.removeFirst(begin)
    }
    let count = try builder.finish()
    let seconds = "\"seconds\":\(now() - start),\"cpu\":\(now(CLOCK_PROCESS_CPUTIME_ID) - cpu)"
    let bytes = try FileSystem.size(ofFile: index)
    print("{\(seconds),\"peak_kib\":\(try memory("VmHWM") - before),\"bytes\":\(bytes),\"entries\":\(count)}")
}

func read(_ path: String) throws {
    let (start, cpu, before) = (now(), now(CLOCK_PROCESS_CPUTIME_ID), try memory("VmRSS"))
    var reader = CallerListReader(format: .csv)
    var count = 0
    try eachPiece(of: path) { count += try reader.read($0).count }
    count += try reader.finish().count
    let seconds = "\"seconds\":\(now() - start),\"cpu\":\(now(CLOCK_PROCESS_CPUTIME_ID) - cpu)"
    print("{\(seconds),\"peak_kib\":\(try memory("VmHWM") - before),\"entries\":\(count)}")
}

func lookUp(_ path: String, _ indexPath: String, _ count: Int) throws {
    let all = try lines(of: path).map { $0.split(separator: "\t", omittingEmptySubsequences: false)[1] }
    func sample(_ isWanted: (Substring) -> Bool, _ suffix: String = "") -> [CallerHandle] {
        let wanted = all.filter(isWanted)
        return (0..<count).map { number in
            let text = wanted[Int(scrambled(number) % UInt64(wanted.count))]
            return CallerHandle(String(text.last == "*" ? text.dropLast() : text) + suffix)
        }
    }
    let kinds = [
        ("number", sample { $0.hasPrefix("+") && !$0.hasSuffix("*") }),
        ("prefix", sample({ $0.hasSuffix("*") }, "12345")),
        ("address", sample { $0.contains("@") }),
        ("miss", (0..<count).map { CallerHandle("+493\(scrambled($0) % 10_000_000_000)") }),
    ]
    let before = try memory("VmRSS")
    let start = now(CLOCK_PROCESS_CPUTIME_ID)
    let index = try CallerIndex(indexPath)
    var figures = ["\"open_us\":\((now(CLOCK_PROCESS_CPUTIME_ID) - start) * 1e6)"]
    for (name, callers) in kinds {
        let start = now(CLOCK_PROCESS_CPUTIME_ID)
        var found = 0
        for caller in callers where try index.lookup(caller) != nil { found += 1 }
        figures.append(
            "\"\(name)_us\":\((now(CLOCK_PROCESS_CPUTIME_ID) - start) * 1e6 / Double(count)),\"\(name)_found\":\(found)"
        )
    }
    print("{\(figures.joined(separator: ",")),\"memory_kib\":\(try memory("VmRSS") - before)}")
}

let arguments = CommandLine.arguments.dropFirst()
switch (arguments.first, arguments.count) {
case ("make", 3):
    let count = Int(arguments[2]) ?? 0
    guard let file = fopen(arguments[3], "w") else { exit(1) }
    for list in ["spam", "names"] {
        let entries = (0..<count).map(entry).filter { $0.list == list }.sorted { $0.pattern < $1.pattern }
        for entry in entries { fputs("\(entry.list)\t\(entry.pattern)\t\(entry.label)\n", file) }
    }
    fclose(file)
case ("build", 3): try build(arguments[2], arguments[3])
case ("import", 2): try read(arguments[2])
case ("look-up", 4): try lookUp(arguments[2], arguments[3], Int(arguments[4]) ?? 0)
default:
    print("usage: lists make COUNT FILE | build FILE INDEX | import FILE | look-up FILE INDEX COUNT")
    exit(2)
}

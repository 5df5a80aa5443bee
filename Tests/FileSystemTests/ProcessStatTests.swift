import FileSystem
import Glibc
import Testing

/// What the kernel says of a process.
struct ProcessStatTests {
    @Test("The kernel's line is read, whatever a process calls itself")
    func parsing() {
        let stat = ProcessStat(parsing: "7 (a) b) S 3 5 5 0 -1")
        #expect(stat?.parent == 3 && stat?.group == 5 && stat?.hasEnded == false && stat?.startTime == nil)
        for text in ["", "7 (a", "7 (a) S", "7 (a) S x 5", "7 (a) S 99999999999 5 1"] {
            #expect(ProcessStat(parsing: text) == nil, "\(text)")
        }
    }

    @Test("The start time is field 22, whatever the program is called")
    func startTime() {
        let tail = " 1 1 1 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 4711 9 9"
        #expect(ProcessStat(parsing: "7 (sh) S\(tail)")?.startTime == 4711)
        #expect(ProcessStat(parsing: "7 (a) R 1 () S\(tail)")?.startTime == 4711)
        #expect(ProcessStat(parsing: "7 (sh) S 1 1")?.startTime == nil)
        #expect(ProcessStat(parsing: "7 (sh S\(tail)") == nil)
        for ended in ["Z", "X"] { #expect(ProcessStat(parsing: "7 (sh) \(ended)\(tail)")?.hasEnded == true) }
    }

    @Test("Of a living process")
    func living() {
        let stat = ProcessStat(of: getpid())
        #expect(stat?.parent == getppid() && stat?.group == getpgrp() && stat?.hasEnded == false)
        #expect(ProcessStat(of: -5) == nil)
    }
}

import BackupArchive
import Testing

@Suite struct BackupNameTests {
    @Test("A name is its time, and is read again")
    func name() throws {
        let name = BackupName(BackupTime(secondsSince1970: 1_795_802_400))
        #expect(name.description == "ringwake-2026-11-27T180000Z.tar.zst")
        #expect(BackupName(name.description) == name)
    }

    @Test(
        "Other names are none of ours",
        arguments: [
            "", "ringwake-.tar.zst", "ringwake-2026-11-27T180000Z.tar", "ringwake-2026-11-27T180000Z.tar.zst.partial",
            "ringwake-2026-02-30T180000Z.tar.zst", "ringwake-2026-11-27T240000Z.tar.zst",
            "ringwake-2026-11-27T18:00:00Z.tar.zst", "ringwake-1969-11-27T180000Z.tar.zst",
            "ringwake-2026-11-27 180000Z.tar.zst", "ringwake-99999-11-27T180000Z.tar.zst",
            "my-2026-11-27T180000Z.tar.zst",
            "ringwake-2026-99-99T999999Z.tar.zst", "ringwake-2026-1-27T180000Z.tar.zst",
        ])
    func others(text: String) {
        #expect(BackupName(text) == nil)
    }

    private let names = [3, 1, 4, 2].map { BackupName(BackupTime(secondsSince1970: $0)).description } + ["notes.txt"]

    @Test("The oldest expire, in any order of the names; the newest never does")
    func expired() {
        #expect(BackupName.expired(names, keeping: 2).map(\.time.secondsSince1970) == [1, 2])
        #expect(BackupName.expired(names, keeping: 4) == [])
        let keyed = Set(names.filter { [1, 2].contains(BackupName($0)?.time.secondsSince1970) })
        #expect(BackupName.expired(names, keeping: 1, keyed: keyed).map(\.time.secondsSince1970) == [1, 3])
        #expect(BackupName.expired(names, keeping: 1).map(\.time.secondsSince1970) == [1, 2, 3])
        #expect(BackupName.expired(names, keeping: 0).map(\.time.secondsSince1970) == [1, 2, 3])
        #expect(BackupName.expired(names, keeping: -1).map(\.time.secondsSince1970) == [1, 2, 3])
        #expect(BackupName.expired([], keeping: 1) == [])
    }

    @Test("A backup that was just made by a clock that is behind stays")
    func wrongClock() {
        let new = BackupName(BackupTime(secondsSince1970: 1))
        #expect(BackupName.expired(names, keeping: 2, new: new).map(\.time.secondsSince1970) == [2])
    }
}

@Suite struct MemberNameTests {
    @Test("Names stay in their directory, and are of printable ASCII")
    func names() {
        for name in ["store/store.db", "a", "a..b", "...", ".hidden/x", "files/7", "a b"] {
            #expect(MemberName(name)?.description == name)
        }
        for name in [
            "", "/", "/etc/passwd", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", "a/./b", "a\\b", "a\0b", "a\nb",
            "ä",
            String(repeating: "a", count: 256), String(repeating: "ab/", count: 400) + "a",
        ] {
            #expect(MemberName(name) == nil, "\(name)")
        }
    }
}

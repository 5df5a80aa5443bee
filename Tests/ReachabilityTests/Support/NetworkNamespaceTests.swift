import Testing

@Suite(
    "The namespace of a test", .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct NetworkNamespaceTests {
    @Test("holds a loopback interface and nothing else")
    func isEmpty() throws {
        try NetworkNamespace.run { commands in
            let links = try commands.ip("-o", "link").split(separator: "\n")
            #expect(links.count == 1)
            #expect(links.first?.contains("lo:") == true)
        }
    }

    @Test("hands on what its body throws, and what a program said")
    func throwing() throws {
        let failure = #expect(throws: CommandFailure.self) {
            try NetworkNamespace.run { try $0.ip("link", "set", "nothing", "up") }
        }
        #expect(failure?.description.contains("Cannot find device") == true)
    }

    @Test("is another one for each test that runs at the same time", arguments: 1...4)
    func isOwn(_ number: Int) throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch(["link add v\(number) type veth peer name p\(number)"])
            #expect(try commands.ip("-o", "link").split(separator: "\n").count == 3)
        }
    }
}

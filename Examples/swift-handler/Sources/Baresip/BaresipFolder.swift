import FoundationEssentials
import Glibc

/// baresip's folder: its `config` and `accounts`, as Examples/baresip-shell describes them.
struct BaresipFolder: Sendable {
    let path: String
    /// The address that `ctrl_tcp` listens on: an IPv4 address and a port.
    let address: String
    let port: UInt16
    /// The account in the form for `uanew`, and its address in the form for `uadel`.
    let account: String
    let addressOfRecord: String

    init(_ path: String) throws {
        self.path = path
        let listens = try Self.lines(path + "/config").compactMap { line -> Substring? in
            let words = line.split(whereSeparator: \.isWhitespace)
            return words.first == "ctrl_tcp_listen" ? words.dropFirst().first : nil
        }.first
        let parts = (listens ?? "").split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1]) else {
            throw BaresipError("\(path)/config has no 'ctrl_tcp_listen 127.0.0.1:PORT'")
        }
        let account = try Self.lines(path + "/accounts").first { !$0.hasPrefix("#") && $0.contains("@") }
        guard let account, let uri = account.split(separator: "<").last?.split(separator: ">").first else {
            throw BaresipError("\(path)/accounts has no account: <sip:bob@example.org>")
        }
        address = String(parts[0])
        self.port = port
        self.account = String(account)
        addressOfRecord = String(uri.prefix { $0 != ";" })
    }

    private static func lines(_ file: String) throws -> [Substring] {
        String(decoding: try Data(contentsOf: .init(filePath: file)), as: UTF8.self).split(separator: "\n")
    }

    /// The process id of the running client, or of the last one.
    var process: pid_t? {
        get { (try? Self.lines(path + "/pid"))?.first.flatMap { pid_t($0) } }
        nonmutating set { try? Data("\(newValue ?? 0)\n".utf8).write(to: .init(filePath: path + "/pid")) }
    }
}

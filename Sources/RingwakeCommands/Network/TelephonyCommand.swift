import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake telephony`
struct TelephonyCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "telephony", "Show the cellular networks that the device is in, as apps read them.",
        examples: """
            ringwake telephony
            ringwake telephony --json | jq '.modems[].radioAccessTechnology'
            """,
        details: """
            They come from ModemManager: operator, country and network code, registration,
            and how the modem is connected. Without a modem there are none.
            'ringwake watch' shows changes.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try show(TelephonyMessage.self, at: RequestTarget("telephony"), TelephonyText.text, in: context)
    }
}

/// Formats cellular networks for people.
enum TelephonyText {
    static func text(of message: TelephonyMessage, style: TextStyle) -> String {
        guard !message.modems.isEmpty else { return "no modem\n" }
        var table = TextTable([.left, .left, .left, .left, .left])
        table.add(["modem", "operator", "code", "registration", "technology"])
        for modem in message.modems {
            table.add(
                [
                    modem.id, modem.operatorName ?? "-", code(of: modem) ?? "-", modem.registration,
                    modem.radioAccessTechnology ?? "-",
                ].map(TerminalText.printable))
        }
        return table.list(style: style)
    }

    /// All modems, in one line: `0 Example (26201) roaming lte`.
    static func line(of modems: [TelephonyMessage.Modem]) -> String {
        guard !modems.isEmpty else { return "no modem" }
        let parts = modems.map { modem in
            [
                modem.id, modem.operatorName, code(of: modem).map { "(\($0))" }, modem.registration,
                modem.radioAccessTechnology,
            ].compactMap { $0 }.joined(separator: " ")
        }
        return TerminalText.printable(parts.joined(separator: ", "))
    }

    private static func code(of modem: TelephonyMessage.Modem) -> String? {
        modem.mobileCountryCode.map { $0 + (modem.mobileNetworkCode ?? "") }
    }
}

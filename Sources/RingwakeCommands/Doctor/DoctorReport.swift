import ControlProtocol

/// What `ringwake doctor` prints.
struct DoctorReport: Encodable, Equatable {
    var schema = ControlAPI.schema
    /// The worst state of the findings.
    let state: Finding.State
    /// In the order of a call's way through the device.
    let findings: [Finding]

    init(_ findings: [Finding]) {
        self.findings = findings
        state = Finding.State.allCases.last { state in findings.contains { $0.state == state } } ?? .ok
    }

    /// The first problem decides, else the first warning.
    var exitStatus: ExitStatus {
        let first = findings.first { $0.state == .problem } ?? findings.first { $0.state == .warning }
        return first.map { ExitStatus(code: $0.exitStatus) } ?? .success
    }

    /// One line for each finding, and one for what to do about it.
    func text(style: TextStyle) -> String {
        let width = findings.map(\.check.count).max() ?? 0
        var lines: [String] = []
        for finding in findings {
            let name = finding.check + String(repeating: " ", count: width - finding.check.count)
            lines.append(mark(finding.state, style) + "  \(name)  " + TerminalText.printable(finding.message))
            guard let hint = finding.hint else { continue }
            lines.append(String(repeating: " ", count: Self.markWidth + width + 4) + TerminalText.printable(hint))
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static let markWidth = 7

    private func mark(_ state: Finding.State, _ style: TextStyle) -> String {
        let text = state.rawValue + String(repeating: " ", count: Self.markWidth - state.rawValue.count)
        switch state {
        case .ok: return style.good(text)
        case .note: return style.dim(text)
        case .warning, .problem: return style.bad(text)
        }
    }
}

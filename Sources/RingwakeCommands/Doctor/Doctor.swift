/// Looks at what a call needs on its way through the device.
enum Doctor {
    /// In this order: a cause before what follows from it.
    private static let first: [@Sendable (DoctorFacts) -> [Finding]] = [
        ConfigurationCheck.findings, DaemonCheck.findings, CertificateCheck.findings, TeamCheck.findings,
        AppCheck.findings, PortCheck.findings, GatewayCheck.findings, LinkCheck.findings, NetworkCheck.findings,
        ClockCheck.findings, StoreCheck.findings, BackupCheck.findings, IdentityCheck.findings,
        ProtectionCheck.findings,
    ]
    /// What rings: nothing does on a machine that is a gateway only.
    private static let ofCalls: [@Sendable (DoctorFacts) -> [Finding]] = [
        HandlerCheck.findings, ProgramCheck.findings, BusCheck.findings, AwakeCheck.findings, AudioCheck.findings,
        StrikeCheck.findings, DoNotDisturbCheck.findings,
    ]
    private static let last: [@Sendable (DoctorFacts) -> [Finding]] = [PushCheck.findings, KernelCheck.findings]

    static func examine(_ facts: DoctorFacts) -> DoctorReport {
        let checks = first + (facts.role == "gateway" ? [] : ofCalls) + last
        return DoctorReport(checks.flatMap { $0(facts) })
    }
}

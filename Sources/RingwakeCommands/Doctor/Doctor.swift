/// Looks at what a call needs on its way through the device.
enum Doctor {
    /// In this order: a cause before what follows from it.
    private static let checks: [@Sendable (DoctorFacts) -> [Finding]] = [
        ConfigurationCheck.findings, DaemonCheck.findings, CertificateCheck.findings, TeamCheck.findings,
        AppCheck.findings, PortCheck.findings, LinkCheck.findings, NetworkCheck.findings, ClockCheck.findings,
        StoreCheck.findings,
        HandlerCheck.findings, ProgramCheck.findings, BusCheck.findings, AwakeCheck.findings, AudioCheck.findings,
        StrikeCheck.findings, DoNotDisturbCheck.findings, PushCheck.findings, KernelCheck.findings,
    ]

    static func examine(_ facts: DoctorFacts) -> DoctorReport {
        DoctorReport(checks.flatMap { $0(facts) })
    }
}

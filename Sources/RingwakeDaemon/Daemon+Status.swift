internal import DaemonConfiguration
internal import DataProtection
internal import CallService
internal import ControlProtocol
internal import Cryptography
internal import FileSystem
internal import Glibc
internal import HTTPServer
internal import NetworkMessages
internal import PushGateway
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

// `GET /v1/status`.
extension Daemon {
    /// What every local user may know.
    ///
    /// - Parameter isHandler: a handler gets what it needs for its app too.
    func publicStatus(isHandler: Bool) -> PublicStatusMessage {
        var message = PublicStatusMessage(
            version: ProductVersion.current, uptimeMs: startedAt.duration(to: BootClock.now()).milliseconds,
            connection: network.currentPath().map { ConnectionMessage(ConnectionStatus($0)) },
            networkNamespace: network.namespace)
        if isHandler { message.protectedDataAvailable = StatusMessage.Protection(protection).protectedDataAvailable }
        return message
    }

    func status() -> StatusMessage {
        let statistics = runLoop.statistics
        let path = network.currentPath()
        var message = StatusMessage(
            version: ProductVersion.current, pid: getpid(),
            uptimeMs: startedAt.duration(to: BootClock.now()).milliseconds, configuration: configuration.file,
            appsDirectory: configuration.appsDirectory, stateDirectory: configuration.stateDirectory,
            controlSocket: configuration.controlSocket,
            listeners: (listeners?.providers.open ?? []).map { port in
                StatusMessage.Listener(
                    address: port.listener.localAddress.description, environment: port.environment.rawValue,
                    connections: port.listener.connectionCount)
            },
            serverCertificate: serverCertificate(), apps: configuration.apps.count,
            activeCalls: calls.coordinator.active.count,
            pushes: StatusMessage.Pushes(
                accepted: gateway.counters.accepted,
                refused: gateway.counters.refused,
                lastRefused: gateway.counters.lastRefusal.map {
                    StatusMessage.LastRefused(
                        reason: $0.reason, agoMs: max(0, $0.at.duration(to: BootClock.now()).milliseconds),
                        acceptedSince: $0.acceptedSince)
                }, failedConnections: gateway.counters.failedConnections,
                limitsMet: listeners?.providers.bounds.countsByName ?? [:]),
            journal: journalStatus(), reachability: reachabilityStatus(), path: path.map { PathMessage($0) },
            connection: path.map { ConnectionMessage(ConnectionStatus($0)) },
            strikes: Dictionary(calls.strikes.map { ($0.key.rawValue, $0.value) }) { $0 + $1 },
            struckOut: configuration.apps.keys.filter { calls.coordinator.isStruckOut($0) }.map(\.rawValue).sorted(),
            doNotDisturb: StatusMessage.DoNotDisturb(calls.service.screening.rules.doNotDisturb, at: .now()),
            awake: device.awakeStatus(), cellular: cellularStatus(),
            ring: device.ringStatus(),
            audio: StatusMessage.Audio(AudioStatusMessage(audio)),
            restoration: StatusMessage.Restoration(
                restored: restoration.report.restored, setAside: restoration.report.setAside,
                why: restoration.report.why),
            buses: buses.status(),
            wakeups: StatusMessage.Wakeups(
                total: statistics.total,
                byCause: Dictionary(statistics.byCause.map { ($0.key.name, $0.value) }) { $0 + $1 }))
        message.role = configuration.role.rawValue
        message.unusedPorts = passed.unused.isEmpty ? nil : passed.unused
        let clocks = calls.senderClocks.wrong.mapValues(\.milliseconds)
        message.pushes.clocksBehindMs = clocks.isEmpty ? nil : clocks
        let faulty = configuration.apps.keys.filter { faults(of: $0) != nil }
        message.pushes.appsWithFaults = faulty.isEmpty ? nil : faulty.map(\.rawValue).sorted()
        message.problems = credentialProblems()
        message.clock = clockStatus()
        message.link = outbound?.paired == nil ? nil : control.links.linkMessage()
        message.gateway = control.links.gatewayMessage()
        message.webhooks = webhooks.isOff ? nil : webhooks.status
        message.damage = damageStatus()
        message.identity = identity.status()
        message.protection = StatusMessage.Protection(protection)
        message.facilities = facilities
        message.networkNamespace = network.namespace
        message.ring.problems = ringProblems.isEmpty ? nil : ringProblems
        message.setAside = configuration.setAside.map(SetAsideMessage.init)
        message.reload = lastReload.map { reload in
            StatusMessage.Reload(
                agoMs: max(0, reload.at.duration(to: BootClock.now()).milliseconds), why: reload.failure,
                needsRestart: reload.needsRestart)
        }
        return message
    }

    /// The newest refusals.
    ///
    /// - Parameter id: the first characters of a push's id, in upper or lower case; nil for all.
    func refusals(id: String?, limit: Int) -> RefusalListMessage {
        let prefix = id?.lowercased()
        let found = gateway.refusals.attempts.reversed().lazy.filter { attempt in
            prefix.map { attempt.pushID?.lowercased().hasPrefix($0) == true } ?? true
        }
        return RefusalListMessage(
            refusals: found.prefix(limit).map { attempt in
                RefusalMessage(
                    at: UTCTime(milliseconds: attempt.at).description, pushId: attempt.pushID, peer: attempt.peer,
                    environment: attempt.environment.rawValue, team: attempt.team, reason: attempt.reason,
                    cause: attempt.cause)
            })
    }

    private func journalStatus() -> StatusMessage.Journal {
        let statistics = calls.journal.statistics
        var status = StatusMessage.Journal(
            file: calls.journal.path, state: "working",
            pushes: Int64(statistics.pushes), calls: Int64(statistics.calls), bytes: statistics.bytes)
        status.gaveWay = statistics.gaveWay > 0 ? Int64(statistics.gaveWay) : nil
        let damaged = statistics.findings.damagedCount
        status.damagedRecords = damaged > 0 ? Int64(damaged) : nil
        if case .failing(since: let since, let error) = calls.journal.health {
            status.state = "failing"
            status.why = error.message
            status.sinceMs = max(0, since.duration(to: calls.now).milliseconds)
        }
        return status
    }

    private func clockStatus() -> StatusMessage.Clock {
        let verdict = judge.verdict()
        let state =
            switch verdict {
            case .right: "right"
            case .unset: "unset"
            case .behind: "behind"
            }
        let until: UTCTime? = if case .behind(let until) = verdict { UTCTime(milliseconds: until) } else { nil }
        return StatusMessage.Clock(state: state, why: judge.why(verdict), until: until?.description)
    }

    private func damageStatus() -> [StatusMessage.Damage] {
        do throws(FileSystemError) {
            return try DamageFolder(stateDirectory: configuration.stateDirectory).cases().map {
                StatusMessage.Damage(why: $0.why, files: $0.files)
            }
        } catch {
            return [StatusMessage.Damage(why: error.description, files: [])]
        }
    }

    private func cellularStatus() -> StatusMessage.Cellular {
        guard configuration.watchesCellular else { return StatusMessage.Cellular() }
        return device.cellularStatus()
    }

    private func reachabilityStatus() -> ReachabilityMessage {
        do throws(RingwakeError) {
            return ReachabilityMessage(try network.status())
        } catch {
            return ReachabilityMessage(failed: error.message, wantedFilterLevel: network.filterLevel)
        }
    }

    private func serverCertificate() -> StatusMessage.ServerCertificate? {
        guard let server = configuration.server, let certificate = credentials.tls?.certificate else { return nil }
        return StatusMessage.ServerCertificate(
            file: server.certificateFile, subject: certificate.subjectCommonName ?? "", notAfter: certificate.notAfter,
            daysLeft: certificate.daysLeft(at: unixMilliseconds() / 1000) ?? .min)
    }
}

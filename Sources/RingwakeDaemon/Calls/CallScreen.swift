internal import CRingwakeLinux
internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import PushJournal
internal import RingwakeCore

/// Who comes through: judges calls when their pushes come, and again when their handlers have said who calls.
final class CallScreen {
    /// The rules in force; changed by ``change(_:completion:)`` and ``reconfigure(_:)``.
    private(set) var rules: ScreeningRules
    /// The block and identification lists; nil while there are none.
    var index: CallerIndex?
    /// How numbers without a country are read.
    var dialling: DiallingRules { rules.dialling }
    /// Called when the index turns out to be damaged, to have it rebuilt.
    var onDamage: (() -> Void)?

    private let journal: PushJournal
    private let logger: Logger

    init(configuration: Configuration, journal: PushJournal, logger: Logger) {
        rules = ScreeningRules(
            allowedLevel: configuration.restrictions.allowedLevel, dialling: configuration.restrictions.dialling)
        self.journal = journal
        self.logger = logger
    }

    /// Puts other settings in force.
    func reconfigure(_ settings: RestrictionSettings) {
        rules.allowedLevel = settings.allowedLevel
        rules.dialling = settings.dialling
    }

    // MARK: - Judging

    /// What keeps the call of a push out that begins it, as far as its caller is known; and who the lists say that calls.
    func restriction(
        of key: CallKey, _ facts: inout PushFacts, _ app: AppConfiguration, at now: BootInstant
    ) -> Restriction? {
        let caller = facts.update.caller.map { CallerHandle($0, rules: dialling) }
        let listed = caller.flatMap { look(up: $0) }
        facts.update.identifiedAs = listed?.label
        return judge(key, app, caller: caller, listed: listed, isReport: false, at: now)
    }

    /// The same when the handler reports the call: who has not said who calls by then is anonymous.
    func restriction(
        ofReport update: inout CallUpdate, of call: Call, _ app: AppConfiguration, at now: BootInstant
    ) -> Restriction? {
        let caller = (update.caller ?? call.update.caller).map { CallerHandle($0, rules: dialling) }
        let listed = look(up: caller ?? .anonymous)
        update.identifiedAs = listed?.label
        return judge(call.key, app, caller: caller, listed: listed, isReport: true, at: now)
    }

    private func judge(
        _ key: CallKey, _ app: AppConfiguration, caller: CallerHandle?, listed: ListVerdict?, isReport: Bool,
        at now: BootInstant
    ) -> Restriction? {
        let call = ScreenedCall(
            call: key, level: app.level, limits: app.limits, caller: caller, listed: listed)
        return rules.restriction(for: call, isReport: isReport, at: now, moment: LocalMoment.now())
    }

    /// What the lists say of a caller. A damaged index says nothing: better a call too many than one too few.
    func look(up caller: CallerHandle) -> ListVerdict? {
        do throws(RingwakeError) {
            return try index?.lookup(caller)
        } catch {
            logger.error("callers cannot be looked up", metadata: ["why": "\(error.message)"])
            index = nil
            onDamage?()
            return nil
        }
    }

    /// What would become of a call of this caller now, as far as it hangs on the caller. Nothing is counted.
    func check(_ caller: CallerHandle, at now: BootInstant) -> (listed: ListVerdict?, restriction: Restriction?) {
        let listed = look(up: caller)
        guard let app = AppID("any.app") else { return (listed, nil) }
        var trial = rules
        let call = ScreenedCall(call: CallKey(app: app, id: CallID("")), caller: caller, listed: listed)
        return (listed, trial.restriction(for: call, isReport: true, at: now, moment: LocalMoment.now()))
    }

    // MARK: - Do not disturb

    /// Takes up what the last run left.
    func begin(_ contents: JournalContents, _ restoration: Restoration, isExcluded: Bool) {
        guard let row = contents.states.first(where: { $0.path == RestorationPath.doNotDisturb }) else { return }
        guard !isExcluded else {
            return journal.keep(nil, version: DoNotDisturb.version, at: row.path, .withNext)
        }
        do {
            rules.doNotDisturb = try JSONDecoder().decode(DoNotDisturb.self, from: Data(row.data))
        } catch {
            restoration.setAside(row, "do not disturb cannot be read: \(error)")
        }
    }

    /// Puts other times of quiet in force, at once, and makes them durable.
    func change(_ new: DoNotDisturb, completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        let old = rules.doNotDisturb
        rules.doNotDisturb = new
        do {
            let data = Array(try JSONEncoder().encode(new))
            journal.keep(data, version: DoNotDisturb.version, at: RestorationPath.doNotDisturb) { [weak self] result in
                // What is answered as failed must not be in force.
                if case .failure = result, self?.rules.doNotDisturb == new { self?.rules.doNotDisturb = old }
                completion(result)
            }
        } catch {
            rules.doNotDisturb = old
            completion(.failure(RingwakeError(.failed, "do not disturb cannot be written down: \(error)")))
        }
    }
}

extension LocalMoment {
    /// The present, in the time zone that the machine is set to.
    static func now() -> LocalMoment {
        let wall = unixMilliseconds()
        var seconds = time_t(wall / 1000)
        var local = tm()
        // The zone's file may have been replaced since: a traveller's device changes it.
        tzset()
        localtime_r(&seconds, &local)
        return LocalMoment(
            weekday: local.tm_wday == 0 ? 7 : Int(local.tm_wday), minuteOfDay: Int(local.tm_hour * 60 + local.tm_min),
            wallMilliseconds: wall)
    }
}

internal import ControlProtocol
internal import RingwakeCore

/// What streams were told of the device's restrictions, and when these change next by themselves.
///
/// They are derived from the rules after each event, so it doesn't matter what has changed them. While nobody reads,
/// nothing is derived, and no deadline is kept.
struct AnnouncedRestrictions: Sendable {
    /// What the restrictions depend on, besides the time.
    private struct Basis: Equatable, Sendable {
        let doNotDisturb: DoNotDisturb
        let allowedLevel: Int?
        let content: ContentRestrictions
    }

    /// The wall clock beside the boot clock: a step of it moves the beginning and the end of do not disturb.
    private struct Clock: Sendable {
        let offset: Int64
        let zone: Int

        init(_ moment: LocalMoment, _ now: BootInstant) {
            offset = moment.wallMilliseconds.subtractingReportingOverflow(now.nanoseconds / 1_000_000).partialValue
            zone = moment.zone
        }

        /// Corrections of less than a second don't count: the clock is slewed all the time.
        func isSame(as other: Clock) -> Bool {
            zone == other.zone && offset.subtractingReportingOverflow(other.offset).partialValue.magnitude < 1000
        }
    }

    private var told: (basis: Basis, restrictions: DeviceRestrictions, clock: Clock?)?
    /// When do not disturb begins or ends next by itself. Nobody has to be woken for it.
    private(set) var nextChange: BootInstant?

    /// Publishes what has changed since the last time.
    mutating func publishChanges(
        of rules: ScreeningRules, _ content: ContentRestrictions, to streams: EventSubscriptions, _ turn: inout Turn
    ) {
        guard streams.areOfDevice else {
            (told, nextChange) = (nil, nil)
            return
        }
        let basis = Basis(doNotDisturb: rules.doNotDisturb, allowedLevel: rules.allowedLevel, content: content)
        let moment = rules.doNotDisturb.mayBeActive ? turn.host.moment() : nil
        let clock = moment.map { Clock($0, turn.now) }
        if let told, told.basis == basis, nextChange.map({ turn.now < $0 }) ?? true {
            // Without do not disturb there is no clock.
            guard let clock, let former = told.clock, !clock.isSame(as: former) else { return }
        }
        let new = DeviceRestrictions(rules, content) { moment ?? turn.host.moment() }
        let former = told?.restrictions
        told = (basis, new, clock)
        nextChange = nil
        if let moment, let next = new.nextChangeMilliseconds {
            let wait = next.subtractingReportingOverflow(moment.wallMilliseconds).partialValue
            // The clocks count milliseconds: rather a millisecond late than twice.
            nextChange = turn.now.advanced(by: .milliseconds(max(0, wait) + 1))
        }
        guard let former else { return }
        for app in streams.namedApps.sorted(by: { $0.rawValue < $1.rawValue }) {
            let restrictions = new.restrictions(of: app)
            guard restrictions != former.restrictions(of: app) else { continue }
            streams.publish(EventMessage(restrictions: restrictions, of: app), to: .app(app, isNamed: true), &turn)
        }
        let common = new.restrictions(of: nil)
        guard common != former.restrictions(of: nil) else { return }
        streams.publish(EventMessage(restrictions: common, of: nil), to: .unfiltered, &turn)
    }
}

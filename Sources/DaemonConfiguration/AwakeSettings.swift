package import DeviceServices
package import RingwakeCore

/// The `[awake]` table: what keeps the machine awake, and for which calls.
package struct AwakeSettings: Sendable, Equatable {
    package var mode = WakeKeeper.Mode.auto
    package var rule = AwakeRule()

    package init() {}

    static let keys: [Setting<AwakeSettings>] = [
        .init("by", .word, \.mode), .init("during", .word, \.rule.during), .init("held", .boolean, \.rule.held),
    ]
}

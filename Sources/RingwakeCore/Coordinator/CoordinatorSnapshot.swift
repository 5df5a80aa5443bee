/// All that a coordinator knows, to be written down and read again: it goes on as if nothing had happened.
package struct CoordinatorSnapshot: Hashable, Sendable, Codable {
    /// The version that this program writes and reads.
    package static let currentVersion = 2

    /// Raised when a member changes its meaning.
    package let version: Int
    let active: [Call]
    let finished: [Call]
    let lanes: [Lane]
    let strikes: [Strikes]
    let waiter: CoordinatorStateMachine.Waiter?
    let isCellularActive: Bool
    let nextCallNumber: Int64
    let nextWakeNumber: UInt64

    struct Lane: Hashable, Sendable, Codable {
        let app: AppID
        let lane: HandlerLane
    }

    struct Strikes: Hashable, Sendable, Codable {
        let app: AppID
        let record: StrikeRecord
    }
}

extension CoordinatorStateMachine {
    /// What there is to know of it now. The same state gives an equal snapshot.
    package var snapshot: CoordinatorSnapshot {
        CoordinatorSnapshot(
            version: CoordinatorSnapshot.currentVersion, active: active.values.sorted { $0.number < $1.number },
            finished: finished,
            lanes: lanes.map { .init(app: $0.key, lane: $0.value) }.sorted { $0.app.rawValue < $1.app.rawValue },
            strikes: strikeRecords.map { .init(app: $0.key, record: $0.value) }
                .sorted { $0.app.rawValue < $1.app.rawValue },
            waiter: waiter, isCellularActive: isCellularActive, nextCallNumber: nextCallNumber,
            nextWakeNumber: nextWakeNumber)
    }
}

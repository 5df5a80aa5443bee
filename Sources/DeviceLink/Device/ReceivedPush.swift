package import RingwakeCore

extension VerifiedPush {
    /// A push that came over the link. Its age decides what it is worth, whatever this device's wall clock shows.
    ///
    /// - Parameters:
    ///   - app: the app of its slot.
    ///   - payload: opened, if it was sealed. A notice has an empty object.
    ///   - age: how long ago it arrived at the gateway.
    ///   - now: the device's boot clock.
    package init(_ push: LinkPush, of app: AppID, payload: [UInt8], age: Duration, now: BootInstant) {
        let received = now.advanced(by: .zero - age)
        let expiration: VerifiedPush.Expiration?
        if push.notice != nil {
            // Past: its call is recorded as expired, and nobody is woken.
            expiration = .at(received)
        } else {
            switch push.expires {
            case nil: expiration = nil
            case 0: expiration = .oneAttempt
            case .some(let time):
                let lifetime = time.subtractingClamped(push.arrivedWall)
                expiration = .at(received.advanced(by: .milliseconds(min(lifetime, Int64.max / 1_000_000))))
            }
        }
        self.init(
            pushID: push.pushID, app: app,
            provenance: Provenance(sender: push.sender, door: .apns(push.environment, push.topic)),
            priority: push.priority, expiration: expiration, collapseID: push.collapseID, payload: payload,
            receivedAt: received, verifiedAt: now)
        receivedWallClock = push.arrivedWall
        type = push.type
    }
}

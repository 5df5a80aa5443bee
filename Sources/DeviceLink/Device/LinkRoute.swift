internal import MQTT5

/// Which gateway a device connects to: its own, or one that a gateway has named (Server Reference, MQTT 4.11).
///
/// ```
/// own --0x9C, 0x9D--> visiting --any other end--> own
///                     visiting --0x9C, 0x9D--> visiting, three times in turn at most
///                     visiting, without a link --visitTime--> own
///                     visiting for good --settled--> own (the other gateway)
/// ```
/// The device checks the other gateway's certificate as it checks its own's: a reference replaces no trust. 0x9C is for
/// now. 0x9D is for good, which counts once the other gateway has the device's registrations; and only from the own
/// gateway, so that one that is visited can't give the device away.
package struct LinkRoute: Hashable, Sendable {
    /// A gateway that is not the device's own.
    package struct Visit: Hashable, Sendable {
        package let gateway: ServerReference
        /// Whether it becomes the device's own.
        package let isForGood: Bool
        /// Its store, once it has said which.
        package var epoch: String?
        /// Whether there was a link to it.
        fileprivate var hasLinked = false
    }

    /// A reference that the device could not follow.
    package struct Failure: Hashable, Sendable {
        /// What was named, in the gateway's words.
        package let gateway: String
        package let why: String
    }

    /// So many references in turn are followed: more means that gateways refer to each other.
    package static let maximumSteps = 3
    /// How long another gateway may take to have a path and a link.
    package static let visitTime = Duration.seconds(30)

    package private(set) var own: ServerReference
    package var visit: Visit?
    /// The last reference that could not be followed; nil if the last one could.
    package private(set) var failure: Failure?
    private var steps = 0

    package init(own: ServerReference) {
        self.own = own
    }

    /// The gateway to connect to.
    package var target: ServerReference { visit?.gateway ?? own }

    /// The target has taken the device.
    package mutating func linked() {
        guard visit != nil else { return }
        visit?.hasLinked = true
        failure = nil
    }

    /// A connection to the target, or an attempt to make one, has ended.
    ///
    /// - Parameter mayMove: whether another gateway may become the device's own.
    /// - Returns: whether the target is another one now.
    package mutating func ended(_ end: LinkEnd, mayMove: Bool) -> Bool {
        let former = target
        switch end.cause {
        case .refused(.useAnotherServer), .disconnected(.useAnotherServer): follow(end, isForGood: false)
        case .refused(.serverMoved), .disconnected(.serverMoved):
            follow(end, isForGood: mayMove && visit?.isForGood ?? true)
        case .left: break
        default:
            if let visit, !visit.hasLinked {
                failure = Failure(gateway: "\(visit.gateway)", why: end.text ?? "it refused the device")
            }
            goHome()
        }
        return target != former
    }

    /// The target has the device's registrations.
    ///
    /// - Returns: whether it is the device's own gateway from now on, and was not before.
    package mutating func settled() -> Bool {
        guard let visit, visit.isForGood else { return false }
        own = visit.gateway
        goHome()
        return true
    }

    /// A gateway that is visited has had its time (``visitTime``).
    ///
    /// - Returns: whether the device goes home, because it has no link there.
    package mutating func giveUp(_ gateway: ServerReference) -> Bool {
        guard let visit, visit.gateway == gateway, !visit.hasLinked else { return false }
        fail("\(gateway)", "there is no way to it; its name may have no address")
        return true
    }

    /// The gateway that is visited is of no use to the device.
    package mutating func refuse(_ why: String) {
        if let visit { fail("\(visit.gateway)", why) }
    }

    private mutating func follow(_ end: LinkEnd, isForGood: Bool) {
        let text = end.serverReference ?? ""
        guard let reference = ServerReference(text) else { return fail(text, "it is no host and port") }
        guard reference != target else { return }
        guard steps < Self.maximumSteps else { return fail(text, "gateways refer to each other") }
        steps += 1
        visit = reference == own ? nil : Visit(gateway: reference, isForGood: isForGood)
    }

    private mutating func fail(_ gateway: String, _ why: String) {
        failure = Failure(gateway: shortText(gateway, bytes: 300), why: why)
        goHome()
    }

    private mutating func goHome() {
        visit = nil
        steps = 0
    }
}

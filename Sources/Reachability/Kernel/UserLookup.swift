/// The kernel's answers for packets of another user: a rule may choose routes by user (`ip rule ... uidrange`).
final class UserLookup: KernelLookup {
    private let kernel: any KernelLookup
    private let user: UInt32

    init(_ kernel: any KernelLookup, user: UInt32) {
        self.kernel = kernel
        self.user = user
    }

    func route(_ question: RouteQuestion) throws(KernelLookupError) -> RouteAnswer {
        var question = question
        question.user = user
        return try kernel.route(question)
    }

    func links() throws(KernelLookupError) -> [LinkFacts] { try kernel.links() }

    func link(_ index: UInt32) throws(KernelLookupError) -> LinkFacts? { try kernel.link(index) }

    func index(ofLink name: String) throws(KernelLookupError) -> UInt32? { try kernel.index(ofLink: name) }

    func addresses(of interface: UInt32) throws(KernelLookupError) -> [AddressFacts] {
        try kernel.addresses(of: interface)
    }

    func deviceType(of link: LinkFacts) -> String { kernel.deviceType(of: link) }
}

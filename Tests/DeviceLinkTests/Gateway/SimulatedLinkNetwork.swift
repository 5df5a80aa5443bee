import DeviceLink
import MQTT5
import RingwakeCore
import Testing

/// A gateway with its disk, its senders and its devices, and connections that carry bytes. Everything that can happen
/// happens by chance; what must hold is checked at each step.
struct SimulatedLinkNetwork {
    /// The chances of what goes wrong.
    struct Weather {
        var diskFails = 0.05
        var deviceRefuses = 0.05
        var crashesOfGateway = 0.002
        var crashesOfDevice = 0.02
        var disconnects = 0.03

        static let fine = Weather(
            diskFails: 0, deviceRefuses: 0, crashesOfGateway: 0, crashesOfDevice: 0, disconnects: 0)
    }

    private struct Sent {
        let device: DeviceID
        let push: VerifiedPush
        var answer: Mailbox.Answer?
        /// The gateway crashed before it answered.
        var isAbandoned = false
    }

    /// Both directions of one connection.
    private struct Pipe {
        let device: DeviceID
        var up: [UInt8] = []
        var down: [UInt8] = []
        var decoder = MQTTDecoder(maximumPacketBytes: LinkLimits.packetBytes)
        /// The device is gone; the gateway learns of it when it has read everything.
        var isBroken = false
    }

    private var weather: Weather
    private var random: TimingRandom
    private var now = BootInstant.at(.seconds(10_000))
    private var machine: LinkGatewayStateMachine
    private var run: UInt64 = 1
    private(set) var disk: SimulatedGatewayDisk
    private var devices: [SimulatedLinkedDevice]
    private var pipes: [LinkID: Pipe] = [:]
    private var lastLink: UInt64 = 0
    private var sent: [PushTicket: Sent] = [:]
    /// Each name that was ever given, with its push and when it was accepted.
    private var names: [MailKey: (id: String, index: Int)] = [:]
    private var acknowledged: Set<MailKey> = []
    private var dropped: [MailKey: Mailbox.Drop] = [:]
    private(set) var crashCount = 0

    init(seed: UInt64, deviceCount: Int = 3, weather: Weather = Weather()) {
        self.weather = weather
        random = TimingRandom(seed: seed)
        devices = (1...deviceCount).map { SimulatedLinkedDevice(.test($0)) }
        disk = SimulatedGatewayDisk(devices.map { .test($0.id) })
        machine = LinkGatewayStateMachine(run: run, epoch: TestGateway.epoch)
        machine.restore(Array(disk.records.values), mail: [])
    }

    // MARK: - What happens

    mutating func step() throws {
        now = now.advanced(by: .milliseconds(Int.random(in: 0...15, using: &random)))
        if chance(0.01) { now = now.advanced(by: .seconds(Int.random(in: 1...40, using: &random))) }
        try handleDeadlines()
        if chance(weather.crashesOfGateway) { try crash() }
        switch Int.random(in: 0..<10, using: &random) {
        case 0: try send()
        case 1...4: try moveBytes()
        case 5, 6: try advanceDisk()
        case 7, 8: try advanceDevice(Int.random(in: devices.indices, using: &random))
        default: try changeConnection(Int.random(in: devices.indices, using: &random))
        }
    }

    /// Nothing goes wrong any more, and everything gets done.
    mutating func settle() throws {
        weather = .fine
        for _ in 0..<400 where !isQuiet {
            now = now.advanced(by: .seconds(61))
            try handleDeadlines()
            for index in devices.indices where devices[index].connection == nil { try connect(index) }
            for _ in 0..<200 where hasWork {
                while !disk.work.isEmpty { try advanceDisk() }
                for link in pipes.keys.sorted(by: { $0.rawValue < $1.rawValue }) { try moveBytes(of: link, all: true) }
                for index in devices.indices where !devices[index].pending.isEmpty { try advanceDevice(index) }
            }
        }
    }

    /// A push to a device that answers at once.
    mutating func sendAndAnswer() throws {
        try send()
        for _ in 0..<10 where hasWork {
            for link in pipes.keys.sorted(by: { $0.rawValue < $1.rawValue }) { try moveBytes(of: link, all: true) }
            for index in devices.indices { try advanceDevice(index) }
        }
        now = now.advanced(by: .seconds(1))
        try handleDeadlines()
    }

    private var hasWork: Bool {
        !disk.work.isEmpty || devices.contains { !$0.pending.isEmpty }
            || pipes.values.contains { !$0.up.isEmpty || !$0.down.isEmpty || $0.isBroken }
    }

    private var isQuiet: Bool {
        !hasWork && machine.mailCount == 0
            && devices.allSatisfy { $0.connection?.session.isLinked == true && machine.isOnline($0.id) }
    }

    private mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < probability
    }

    private mutating func send() throws {
        guard let device = devices.randomElement(using: &random)?.id,
            let slot = machine.directory[device]?.registrations.randomElement(using: &random)?.slot
        else { return }
        let ticket = PushTicket(rawValue: UInt64(sent.count + 1))
        var push = VerifiedPush.test(
            id: "push-\(ticket.rawValue)", isVoIP: chance(0.7), priority: chance(0.3) ? .low : .immediate,
            expiration: chance(0.2) ? .oneAttempt : chance(0.3) ? .at(now.advanced(by: .seconds(20))) : nil,
            collapse: chance(0.2) ? "a" : nil, payload: Array("{\"push\":\(ticket.rawValue)}".utf8), at: now)
        // A sender that repeats a push keeps its id.
        let refused = sent.filter {
            $0.value.device == device && ($0.value.answer == .refused(.unavailable) || $0.value.isAbandoned)
        }
        if chance(0.3), let again = refused.max(by: { $0.key.rawValue < $1.key.rawValue })?.value {
            push = VerifiedPush.test(
                id: again.push.pushID, isVoIP: again.push.provenance.topic == .voip, payload: again.push.payload,
                at: now)
        }
        sent[ticket] = Sent(device: device, push: push)
        try handle(.push(push, device, slot, ticket))
    }

    private mutating func advanceDisk() throws {
        guard !disk.work.isEmpty else { return }
        if let report = disk.advance(fails: chance(weather.diskFails)) { try handle(report) }
    }

    private mutating func advanceDevice(_ index: Int) throws {
        if chance(weather.crashesOfDevice) {
            devices[index].pending = []
            return breakLink(of: index)
        }
        if chance(0.02), weather.crashesOfDevice > 0 {
            devices[index].changeRegistrations()
            try run(devices[index].publishRegistrations(at: now), of: index)
        }
        if chance(weather.deviceRefuses), let first = devices[index].pending.first {
            devices[index].pending.removeFirst()
            let settlements: [DeviceSession.Settlement] = [.full, .failing, .badPayload]
            return try run(devices[index].settle(first, settlements[Int(random.next() % 3)]), of: index)
        }
        while let committed = devices[index].commitNext() {
            checkOrder(of: devices[index])
            if chance(weather.crashesOfDevice) {
                devices[index].pending = []
                return breakLink(of: index)
            }
            try run(devices[index].settle(committed, .durable), of: index)
        }
    }

    private mutating func changeConnection(_ index: Int) throws {
        guard devices[index].connection != nil else { return try connect(index) }
        if chance(weather.disconnects) { breakLink(of: index) }
    }

    private mutating func connect(_ index: Int) throws {
        lastLink += 1
        let link = LinkID(rawValue: lastLink)
        pipes[link] = Pipe(device: devices[index].id)
        try handle(.opened(link, network: "test"))
        try run(
            devices[index].begin(link, receiveMaximum: UInt16.random(in: 1...3, using: &random), at: now), of: index)
    }

    /// The device is off its connection. What it has sent may still arrive.
    private mutating func breakLink(of index: Int) {
        guard let link = devices[index].connection?.link else { return }
        devices[index].connection = nil
        pipes[link]?.isBroken = true
        pipes[link]?.down = []
        if chance(0.5) { pipes[link]?.up = [] }
    }

    private mutating func crash() throws {
        crashCount += 1
        for _ in 0..<Int.random(in: 0...disk.work.count, using: &random) { _ = disk.advance(fails: false) }
        disk.cut()
        for ticket in sent.keys where sent[ticket]?.answer == nil { sent[ticket]?.isAbandoned = true }
        pipes = [:]
        for index in devices.indices { devices[index].connection = nil }
        run += 1
        machine = LinkGatewayStateMachine(run: run, epoch: TestGateway.epoch)
        run(machine.restore(Array(disk.records.values), mail: disk.mail))
    }

    // MARK: - Bytes

    private mutating func moveBytes() throws {
        guard let link = pipes.keys.sorted(by: { $0.rawValue < $1.rawValue }).randomElement(using: &random) else {
            return
        }
        try moveBytes(of: link, all: chance(0.7))
    }

    private mutating func moveBytes(of link: LinkID, all: Bool) throws {
        guard let pipe = pipes[link], let index = devices.firstIndex(where: { $0.id == pipe.device }) else { return }
        let down = all ? pipe.down.count : Int.random(in: 0...pipe.down.count, using: &random)
        if down > 0, devices[index].connection?.link == link {
            pipes[link]?.down.removeFirst(down)
            try run(devices[index].receive(Array(pipe.down.prefix(down)), at: now), of: index)
        }
        let up = all ? pipe.up.count : Int.random(in: 0...pipe.up.count, using: &random)
        pipes[link]?.up.removeFirst(up)
        pipes[link]?.decoder.consume(pipe.up.prefix(up))
        while let packet = try pipes[link]?.decoder.next() {
            try handle(.received(link, packet, .key(pipe.device, TestGateway.key)))
        }
        if pipe.isBroken, up == pipe.up.count {
            pipes[link] = nil
            try handle(.closed(link))
        }
    }

    private mutating func run(_ outputs: [DeviceSession.Output], of index: Int) throws {
        for output in outputs {
            guard let link = devices[index].connection?.link else { return }
            switch output {
            case .send(let packet): pipes[link]?.up += packet.encoded()
            case .end:
                devices[index].connection = nil
                pipes[link]?.isBroken = true
            default: break
            }
        }
    }

    // MARK: - The gateway

    private mutating func handleDeadlines() throws {
        if let deadline = machine.nextDeadline, deadline <= now { try handle(.deadlineReached) }
        for link in pipes.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if let deadline = machine.deadline(of: link), deadline <= now { try handle(.linkDeadlineReached(link)) }
        }
    }

    private mutating func handle(_ event: LinkGatewayEvent) throws {
        run(
            machine.handle(
                event, at: now,
                asking: LinkGatewayHost(
                    wall: { TestGateway.wall }, isServed: { _ in true }, isSigned: { _, _, _ in true },
                    isKey: { _ in true }, isOpen: false)))
        let deadline = machine.nextDeadline
        try #require(deadline.map { $0 > now } ?? true, "a deadline of the past would never end")
    }

    private mutating func run(_ effects: [LinkGatewayEffect]) {
        for effect in effects {
            switch effect {
            case .send(let link, let packet):
                if pipes[link]?.isBroken == false { pipes[link]?.down += packet.encoded() }
                if case .publish(let packet) = packet, let push = LinkPush(packet) { name(push) }
            case .close(let link, _): close(link)
            case .append(let device, let push, let replaced):
                name(push)
                #expect(!acknowledged.contains(push.key), "\(push.key) was acknowledged, and is written")
                #expect(!push.payload.isEmpty)
                disk.request(.append(device, push, replacing: replaced))
            case .remove(_, let keys): disk.request(.remove(keys))
            case .read(let device, let keys): disk.request(.read(device, keys))
            case .store(let device, let change): disk.request(.store(device, machine.directory[device], change))
            case .answer(let ticket, let answer): check(answer, to: ticket)
            case .note(.acknowledged(_, let key, .success, _)): acknowledged.insert(key)
            case .note(.dropped(_, let key, let why)): dropped[key] = why
            default: break
            }
        }
    }

    /// The gateway closes when everything was sent. Its device may have sent something meanwhile.
    private mutating func close(_ link: LinkID) {
        guard let pipe = pipes[link], let index = devices.firstIndex(where: { $0.id == pipe.device }) else { return }
        guard devices[index].connection?.link == link else { return }
        pipes[link]?.isBroken = true
        devices[index].connection = nil
    }

    // MARK: - What must hold

    /// A name is of one push for ever.
    private mutating func name(_ push: LinkPush) {
        let known = names[push.key] ?? (push.pushID, names.count)
        #expect(known.id == push.pushID, "\(push.key) names two pushes")
        names[push.key] = known
    }

    private mutating func check(_ answer: Mailbox.Answer, to ticket: PushTicket) {
        guard let push = sent[ticket] else {
            Issue.record("an answer to nobody")
            return
        }
        #expect(push.answer == nil && !push.isAbandoned, "the sender of \(push.push.pushID) is answered twice")
        sent[ticket]?.answer = answer
        let isKnown = devices.contains { $0.id == push.device && $0.has(push.push) }
        switch answer {
        case .delivered: #expect(isKnown, "\(push.push.pushID) is not in the device's journal")
        case .queued:
            let keys = names.filter { $0.value.id == push.push.pushID }.keys
            #expect(isKnown || keys.contains { disk.has($0) }, "\(push.push.pushID) is nowhere durable")
        case .refused: break
        }
    }

    private func checkOrder(of device: SimulatedLinkedDevice) {
        guard let last = device.entries.last,
            let former = device.entries.dropLast().last(where: { $0.slot == last.slot })
        else { return }
        #expect(
            names[former.key]?.index ?? 0 < names[last.key]?.index ?? 0,
            "\(last.pushID) came after \(former.pushID), which was accepted later")
    }

    /// Everything is done: each push is answered, each accepted one is at its device or is a recorded drop.
    func checkEnd() {
        #expect(isQuiet && machine.mailCount == 0 && disk.rowCount == 0 && machine.nextDeadline == nil)
        for (ticket, push) in sent {
            #expect(push.isAbandoned != (push.answer != nil), "push \(ticket.rawValue) was never answered")
            guard let answer = push.answer else { continue }
            switch answer {
            case .refused: continue
            case .delivered, .queued: break
            }
            let isKnown = devices.contains { $0.id == push.device && $0.has(push.push) }
            let keys = names.filter { $0.value.id == push.push.pushID }.keys
            // A crash between a commit and its report leaves the drop of the replaced push unsaid.
            let drops = keys.compactMap { dropped[$0] ?? (disk.replaced.contains($0) ? .collapsed : nil) }
            #expect(isKnown || !drops.isEmpty, "\(push.push.pushID) was accepted, and is lost")
            guard !isKnown, push.push.provenance.topic == .voip else { continue }
            #expect(!drops.contains(.displaced) && !drops.contains(.expired) && !drops.contains(.lost))
        }
    }

    /// What was sent, and how much of it was delivered without a write at the gateway.
    var summary: (sent: Int, delivered: Int, written: Int) {
        (sent.count, sent.values.count { $0.answer == .delivered }, disk.appendCount)
    }
}

internal import CallService
internal import ControlProtocol
internal import DaemonConfiguration
internal import DeviceLink
internal import DeviceServices
internal import HTTPServer
internal import LinkTransport
internal import Logging
internal import PushGateway
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

// Links: of devices to this gateway, and of this device to its gateway.
extension Daemon {
    /// Lets devices link.
    func beginLinks(_ contents: JournalContents) {
        guard configuration.gateway.isOn else { return }
        do throws(RingwakeError) {
            var limits = ConnectionLimits.provider(available: descriptors.connections(forEachOf: 2))
            limits.maximumConnections = descriptors.connections(forEachOf: 2)
            links = try GatewayLinks(
                directory: configuration.stateDirectory, settings: configuration.gateway, contents: contents,
                journal: journal, runLoop: runLoop, limits: limits, logger: logger,
                onReceipt: { [webhooks] key, device in webhooks.note(.linked(device, key)) }
            ) { [unowned self] topic, sender in
                credentials.gateway.teams.values.contains {
                    (sender ?? $0.id) == $0.id && $0.topics?.contains(topic.rawValue) ?? true
                }
            }
        } catch {
            logger.error("devices cannot link", metadata: ["why": "\(error.message)"])
        }
    }

    /// Links to the gateway that this device is paired with.
    func beginOutboundLink() {
        guard configuration.role != .gateway else { return }
        let receipts = ReceiptSender(calls: calls, journal: journal, tokens: tokens, runLoop: runLoop)
        let resets = ClientResets(
            directory: configuration.stateDirectory, tokens: tokens,
            hooks: LinkHooks(
                before: configuration.link.beforeReset, after: configuration.link.afterReset, runLoop: runLoop,
                environment: processEnvironment().map { "\($0.key)=\($0.value)" }, logger: logger), logger: logger)
        let synchronizer = LinkSynchronizer(
            tokens: tokens, receipts: receipts, resets: resets, settings: configuration.link, runLoop: runLoop,
            logger: logger)
        let link = OutboundLink(
            directory: configuration.stateDirectory, settings: configuration.link, runLoop: runLoop, tokens: tokens,
            network: network, receipts: receipts, synchronizer: synchronizer,
            earliestTime: { [judge] in judge.earliestTime() }, logger: logger
        ) { [calls, judge] push, answer in
            judge.noteArrival()
            calls.receive(push, answer: answer)
        }
        link.apps = { [calls] in Set(calls.configuration.apps.keys) }
        link.onPaired = { [unowned self] in
            do throws(RingwakeError) { try registerAppsIfPossible() } catch { logger.error("\(error.message)") }
            for app in configuration.apps.keys {
                calls.publish(EventMessage(credentialsOf: app, areValid: true), to: .app(app))
            }
        }
        outbound = link
        resets.onReport = { [unowned self] report in
            let gateway = outbound?.paired.map { "\($0.host):\($0.port)" }
            let device = outbound?.keys?.device.rawValue
            calls.publish(
                .linkReset(.init(gateway: gateway, device: device, reset: LinkMessage.Reset(report))), to: .device)
        }
        let delay = SleepDelay(runLoop: runLoop, logger: logger, systemBus: buses.system)
        delay.onSleep = { [link] ready in link.prepareForSleep(ready) }
        delay.onWake = { [link] in link.resumed() }
        // A machine that sleeps without logind, or by itself, is noticed by the kernel's clocks.
        network.onResume = { [link] in link.resumed() }
        link.onLinkNeeded = { [delay] isNeeded in delay.isNeeded = isNeeded }
        calls.onChanges.append { [receipts, link] changes in
            if link.paired != nil { receipts.changed(changes.calls) }
        }
        do throws(RingwakeError) {
            try link.begin()
        } catch {
            logger.error("the link to the gateway cannot be made", metadata: ["why": "\(error.message)"])
        }
    }
}

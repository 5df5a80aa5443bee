internal import CallService
internal import ControlProtocol
internal import DBus
internal import DeviceServices
internal import HTTPServer
internal import RingwakeCore

/// Tells apps which cellular networks the device is in. The modems are followed only while somebody reads events: who asks
/// otherwise gets what ModemManager says then.
final class Telephony {
    private let cellular: CellularMonitor

    init(_ cellular: CellularMonitor, calls: CallDriver) {
        self.cellular = cellular
        cellular.onNetworks = { [weak calls] networks in
            calls?.publish(.telephony(.init(modems: networks.map { .init($0) })), to: .device)
        }
        calls.onReaders = { [cellular] in cellular.followsNetworks = $0 }
        calls.telephonyEvents = { [cellular] in
            cellular.networks.isEmpty ? [] : [.telephony(.init(modems: cellular.networks.map { .init($0) }))]
        }
    }

    /// Answers when ModemManager has, or when it doesn't.
    func answer(_ exchange: any HTTPExchange) {
        cellular.readNetworks { result in
            switch result {
            case .success(let networks):
                exchange.respond(.success(TelephonyMessage(modems: networks.map { .init($0) })))
            case .failure(let error):
                exchange.respond(
                    .failure(
                        RingwakeError(
                            error.name == DBusError.noReply ? .timedOut : .unreachable,
                            "ModemManager does not say which networks there are: \(error)")))
            }
        }
    }
}

extension TelephonyMessage.Modem {
    fileprivate init(_ network: ModemNetwork) {
        self.init(
            id: network.id, operatorName: network.operatorName, mobileCountryCode: network.countryCode,
            mobileNetworkCode: network.networkCode, registration: network.registration.rawValue,
            roaming: network.registration == .roaming, radioAccessTechnology: network.technology?.rawValue)
    }
}

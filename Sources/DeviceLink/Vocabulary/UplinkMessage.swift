internal import FoundationEssentials
package import MQTT5
internal import RingwakeCore

/// What a device publishes: one JSON object with the member `op`.
package enum UplinkMessage: Hashable, Sendable {
    case pair(PairRequest)
    case registrations(LinkRegistrations)
    /// Asks for the gateway's registrations (``GatewayRegistrations``), and which of these tokens have ended there.
    case compare(tokens: [String])
    /// What became of pushes; at most ``LinkReceipt/maximumInMessage``.
    case receipts([LinkReceipt])
    /// The device leaves for good: its tokens end.
    case unpair

    /// `{"op":"pair","code":"…","name":"…","sealing":"…","signature":"…"}`
    package struct PairRequest: Hashable, Sendable, Codable {
        package let code: String
        /// What people call the device.
        package let name: String?
        /// Its key for sealed payloads: SubjectPublicKeyInfo in base64.
        package let sealing: String?
        /// ES256 by the device's key over ``SealingKey/signedBytes(_:)``, in base64.
        package let signature: String?

        package init(code: String, name: String?, sealing: String?, signature: String?) {
            self.code = code
            self.name = name
            self.sealing = sealing
            self.signature = signature
        }
    }

    /// Why a message is refused, in words.
    package struct Defect: Error, Hashable, Sendable {
        /// Maximum UTF-8 bytes of ``text``: it goes into a reason string.
        static let maximumTextBytes = 300

        /// The code of its PUBACK.
        package let reason: MQTTReason
        package let text: String

        init(_ reason: MQTTReason, _ text: String) {
            self.reason = reason
            self.text = shortText(text, bytes: Defect.maximumTextBytes)
        }

        init(_ text: String) {
            self.init(.payloadFormatInvalid, text)
        }
    }

    private struct Comparison: Codable {
        let tokens: [String]
    }

    private struct Receipts: Codable {
        let receipts: [LinkReceipt]
    }

    private struct Operation: Codable {
        let op: String
    }

    /// Reads what a device has published.
    package init(json: [UInt8]) throws(Defect) {
        do throws(JSONSyntax.Defect) {
            try JSONSyntax.requireObject(json)
        } catch {
            throw Defect("it is not a JSON object: \(error)")
        }
        let data = Data(json)
        let decoder = JSONDecoder()
        do {
            switch try decoder.decode(Operation.self, from: data).op {
            case "pair": self = .pair(try decoder.decode(PairRequest.self, from: data))
            case "registrations": self = .registrations(try decoder.decode(LinkRegistrations.self, from: data))
            case "compare":
                let tokens = try decoder.decode(Comparison.self, from: data).tokens
                guard tokens.count <= LinkLimits.maximumRegistrations else {
                    throw Defect(.quotaExceeded, "more than \(LinkLimits.maximumRegistrations) tokens")
                }
                self = .compare(tokens: tokens)
            case "receipts":
                let receipts = try decoder.decode(Receipts.self, from: data).receipts
                guard receipts.count <= LinkReceipt.maximumInMessage, receipts.allSatisfy(\.isWellFormed) else {
                    throw Defect("more than \(LinkReceipt.maximumInMessage) receipts, or a text in one is too long")
                }
                self = .receipts(receipts)
            case "unpair": self = .unpair
            default: throw Defect("'op' is not one that this gateway knows")
            }
        } catch let defect as Defect {
            throw defect
        } catch {
            throw Defect(UplinkMessage.text(of: error))
        }
    }

    /// The purpose of the connections that may carry it.
    var purpose: LinkHello.Purpose { if case .pair = self { .pair } else { .link } }

    /// The message as JSON.
    package var json: [UInt8] {
        let writer = JSONWriter { json in
            switch self {
            case .pair(let request):
                json.add("op", "pair")
                json.add("code", request.code)
                json.add("name", request.name)
                json.add("sealing", request.sealing)
                json.add("signature", request.signature)
            case .registrations(let set):
                json.add("op", "registrations")
                json.add("revision", set.revision)
                json.add("sealing", set.sealing)
                json.add("registrations", array: set.registrations) { registration, json in
                    json.object { json in
                        json.add("slot", registration.slot.description)
                        json.add("app", registration.app.rawValue)
                        json.add("topics", array: registration.topics) { $1.string($0.rawValue) }
                        json.add("environment", registration.environment)
                        json.add("token", registration.token)
                    }
                }
            case .compare(let tokens):
                json.add("op", "compare")
                json.add("tokens", array: tokens) { $1.string($0) }
            case .receipts(let receipts):
                json.add("op", "receipts")
                json.add("receipts", array: receipts) { receipt, json in
                    json.object { json in
                        json.add("slot", receipt.slot.description)
                        json.add("id", receipt.id)
                        json.add("sender", receipt.sender)
                        json.add("state", receipt.state)
                        json.add("reason", receipt.reason)
                        json.add("attempt", receipt.attempt)
                        json.add("at", receipt.at)
                        json.add("stages", array: receipt.stages) { stage, json in
                            json.object { json in
                                json.add("stage", stage.stage)
                                json.add("atUs", stage.atUs)
                            }
                        }
                    }
                }
            case .unpair: json.add("op", "unpair")
            }
        }
        return writer.bytes
    }

    private static func text(of error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .dataCorrupted(let context): return context.debugDescription
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "\(path(context.codingPath)): \(context.debugDescription)"
        case .keyNotFound(let key, let context): return "\(path(context.codingPath + [key])) is missing"
        @unknown default: return "\(error)"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        "'" + keys.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "/") + "'"
    }
}

/// The key that a device lets gateways seal payloads with.
package enum SealingKey {
    /// What the device's key signs: a label, and the sealing key (SubjectPublicKeyInfo).
    package static func signedBytes(_ sealing: [UInt8]) -> [UInt8] { Array("ringwake sealing 1".utf8) + sealing }

    /// Maximum characters: a P-256 key has 91 bytes.
    private static let maximumCharacters = 124

    /// Reads a device's sealing key, if it has one.
    static func bytes(of base64: String?, _ host: LinkGatewayHost) throws(UplinkMessage.Defect) -> [UInt8]? {
        guard let base64 else { return nil }
        guard base64.utf8.count <= maximumCharacters, let key = Data(base64Encoded: base64), host.isKey(Array(key))
        else { throw UplinkMessage.Defect("'sealing' is not the SubjectPublicKeyInfo of a P-256 key in base64") }
        return Array(key)
    }
}

extension UplinkMessage.PairRequest {
    /// Checks that the device's own key has signed its sealing key, if it has one.
    func checkSealingKey(_ proof: LinkProof, _ host: LinkGatewayHost) throws(UplinkMessage.Defect) {
        guard let key = try SealingKey.bytes(of: sealing, host) else { return }
        guard let signature, let bytes = Data(base64Encoded: signature), case .key(_, let publicKey) = proof,
            host.isSigned(SealingKey.signedBytes(key), Array(bytes), publicKey)
        else { throw UplinkMessage.Defect("'signature' is not that of the device's key over 'sealing'") }
    }
}

/// Apple's extensions of a provider certificate (arc 1.2.840.113635.100.6.3).
///
/// An extension that cannot be read grants nothing: its topics are left out and ``hasMalformedTopics`` is set.
package struct AppleExtensions: Equatable, Sendable {
    /// A topic that the certificate may push to.
    package struct CertifiedTopic: Equatable, Sendable {
        /// Such as `com.example.phone.voip`.
        package let topic: String
        /// Such as `voip`, `app`, `complication`.
        package let purposes: [String]

        package init(topic: String, purposes: [String]) {
            self.topic = topic
            self.purposes = purposes
        }
    }

    /// The object identifiers.
    enum Identifier {
        static let development = "1.2.840.113635.100.6.3.1"
        static let production = "1.2.840.113635.100.6.3.2"
        static let voIP = "1.2.840.113635.100.6.3.4"
        static let topics = "1.2.840.113635.100.6.3.6"
    }

    /// Maximum topics to read; Apple grants 400 to a key.
    private static let maximumTopics = 1000
    /// Maximum bytes of a topic or a purpose.
    private static let maximumStringBytes = 255

    /// Valid for the development environment (`.1`).
    package var isDevelopment = false
    /// Valid for the production environment (`.2`).
    package var isProduction = false
    /// A VoIP Services certificate (`.4`).
    package var isVoIP = false
    /// The topics of `.6`, or of `.4`, in the order of the certificate.
    package var topics: [CertifiedTopic] = []
    /// Whether `.6` exists but can't be read.
    package var hasMalformedTopics = false

    /// Whether it has one of the marks of a push certificate.
    package var isForPushes: Bool { isDevelopment || isProduction || isVoIP || !topics.isEmpty }

    /// No extension at all.
    package init() {}

    /// The extensions of a certificate to be issued.
    package init(isDevelopment: Bool, isProduction: Bool, isVoIP: Bool, topics: [CertifiedTopic]) {
        self.isDevelopment = isDevelopment
        self.isProduction = isProduction
        self.isVoIP = isVoIP
        self.topics = topics
    }

    /// Reads `SEQUENCE { UTF8String topic, SEQUENCE { UTF8String purpose, ... }, ... }`; `nil` when malformed.
    static func topics(der: [UInt8]) -> [CertifiedTopic]? {
        var outer = DERReader(der[...])
        guard let content = outer.next(DERReader.Tag.sequence), outer.isAtEnd else { return nil }
        var reader = DERReader(content)
        var topics: [CertifiedTopic] = []
        while !reader.isAtEnd {
            guard topics.count < maximumTopics, let topic = string(&reader),
                let list = reader.next(DERReader.Tag.sequence)
            else { return nil }
            var purposes: [String] = []
            var inner = DERReader(list)
            while !inner.isAtEnd {
                guard let purpose = string(&inner) else { return nil }
                purposes.append(purpose)
            }
            topics.append(CertifiedTopic(topic: topic, purposes: purposes))
        }
        return topics
    }

    private static func string(_ reader: inout DERReader) -> String? {
        guard let bytes = reader.next(DERReader.Tag.utf8String), !bytes.isEmpty, bytes.count <= maximumStringBytes
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

import RingwakeCore

/// One extension of a certificate (RFC 5280 section 4.2): its object identifier and the DER inside.
struct CertificateExtension {
    let identifier: String
    let isCritical: Bool
    let der: [UInt8]
}

/// The extensions that each kind of certificate gets.
enum CertificateExtensions {
    private enum Identifier {
        static let subjectKeyIdentifier = "2.5.29.14"
        static let keyUsage = "2.5.29.15"
        static let basicConstraints = "2.5.29.19"
        static let authorityKeyIdentifier = "2.5.29.35"
        static let extendedKeyUsage = "2.5.29.37"
        static let serverAuthentication = "1.3.6.1.5.5.7.3.1"
        static let clientAuthentication = "1.3.6.1.5.5.7.3.2"
    }

    /// The size of a key identifier, in bytes: SHA-256 truncated to the 160 bits of the old SHA-1 ones.
    private static let keyIdentifierBytes = 20
    /// `[0]` of AuthorityKeyIdentifier: keyIdentifier.
    private static let keyIdentifierTag: UInt8 = 0x80

    /// - Parameters:
    ///   - publicKeyDER: SubjectPublicKeyInfo of the subject.
    ///   - issuerKeyIdentifier: the subject key identifier of the issuer; `nil` when it has none or the
    ///     certificate is self-signed.
    static func all(
        for role: CertificateTemplate.Role, publicKeyDER: [UInt8], issuerKeyIdentifier: [UInt8]?
    ) throws(RingwakeError) -> [CertificateExtension] {
        var extensions: [CertificateExtension] = []
        func add(_ identifier: String, critical: Bool = false, _ der: [UInt8]) {
            extensions.append(CertificateExtension(identifier: identifier, isCritical: critical, der: der))
        }
        switch role {
        case .authority:
            // Path length 0: the certificates that it signs must not sign others.
            add(
                Identifier.basicConstraints, critical: true,
                DERWriter.sequence(DERWriter.isTrue, DERWriter.integer(0)))
            // keyCertSign and cRLSign are bits 5 and 6.
            add(Identifier.keyUsage, critical: true, DERWriter.bitString(0b0000_0110, unusedBits: 1))
        case .server(let names):
            addLeaf()
            add(
                Identifier.extendedKeyUsage,
                try DERWriter.sequence(DERWriter.objectIdentifier(Identifier.serverAuthentication)))
            add(SubjectAlternativeName.extensionIdentifier, DERWriter.sequence(of: names.map(generalName)))
        case .provider(let apple):
            addLeaf()
            add(
                Identifier.extendedKeyUsage,
                try DERWriter.sequence(DERWriter.objectIdentifier(Identifier.clientAuthentication)))
            if apple.isDevelopment { add(AppleExtensions.Identifier.development, DERWriter.null) }
            if apple.isProduction { add(AppleExtensions.Identifier.production, DERWriter.null) }
            if apple.isVoIP { add(AppleExtensions.Identifier.voIP, DERWriter.null) }
            if !apple.topics.isEmpty { add(AppleExtensions.Identifier.topics, topics(apple.topics)) }
        }
        add(Identifier.subjectKeyIdentifier, DERWriter.octetString(keyIdentifier(publicKeyDER)))
        if let issuerKeyIdentifier {
            add(
                Identifier.authorityKeyIdentifier,
                DERWriter.sequence(DERWriter.element(keyIdentifierTag, issuerKeyIdentifier)))
        }
        return extensions

        func addLeaf() {
            add(Identifier.basicConstraints, critical: true, DERWriter.sequence())
            // digitalSignature is bit 0: TLS with forward secrecy needs nothing else of a key.
            add(Identifier.keyUsage, critical: true, DERWriter.bitString(0b1000_0000, unusedBits: 7))
        }
    }

    private static func keyIdentifier(_ publicKeyDER: [UInt8]) -> [UInt8] {
        Array(SHA256.digest(publicKeyDER).prefix(keyIdentifierBytes))
    }

    private static func generalName(_ name: SubjectAlternativeName) -> [UInt8] {
        switch name {
        case .dns(let name): DERWriter.element(DERReader.Tag.dnsName, Array(name.utf8))
        case .ip(let address): DERWriter.element(DERReader.Tag.ipAddress, address)
        }
    }

    private static func topics(_ topics: [AppleExtensions.CertifiedTopic]) -> [UInt8] {
        DERWriter.sequence(
            of: topics.flatMap { topic in
                [
                    DERWriter.utf8String(topic.topic),
                    DERWriter.sequence(of: topic.purposes.map(DERWriter.utf8String)),
                ]
            })
    }
}

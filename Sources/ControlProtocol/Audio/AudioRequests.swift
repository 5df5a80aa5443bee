package import RingwakeCore

/// What a session is: body of `PUT /v1/audio/sessions/{id}` and of `POST /v1/calls/{call}/audio`, and the member
/// `audio` of the body that fulfils an answer.
package struct AudioConfigurationBody: Codable, Equatable, Sendable {
    package var category: String
    /// `default` when left out.
    package var mode: String?
    package var options: [String]?
    /// The server's name of a device, or a kind of port (`builtInSpeaker`, `bluetoothHFP`, ...).
    package var preferredOutput: String?
    package var preferredInput: String?

    /// - Throws: `badParam`, saying what does not fit and what would.
    package func configuration() throws(AudioSessionError) -> AudioSessionConfiguration {
        try AudioSessionConfiguration(
            try AudioConfigurationBody.word(category, "category"),
            mode: try mode.map { name throws(AudioSessionError) in
                try AudioConfigurationBody.word(name, "mode")
            } ?? .default,
            options: try chosenOptions(), preferredOutput: preferredOutput, preferredInput: preferredInput)
    }

    private func chosenOptions() throws(AudioSessionError) -> Set<AudioOption> {
        var chosen: Set<AudioOption> = []
        for name in options ?? [] { chosen.insert(try AudioConfigurationBody.word(name, "option")) }
        return chosen
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ what: String
    ) throws(AudioSessionError) -> Word {
        if let word = Word(rawValue: name) { return word }
        let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
        throw AudioSessionError(.badParam, "'\(name)' is no \(what); there are \(known)")
    }
}

extension AudioConfigurationBody {
    package init(_ configuration: AudioSessionConfiguration) {
        self.init(
            category: configuration.category.rawValue, mode: configuration.mode.rawValue,
            options: configuration.options.map(\.rawValue).sorted(), preferredOutput: configuration.preferredOutput,
            preferredInput: configuration.preferredInput)
    }
}

/// Body of `POST /v1/audio/sessions`; every member may be left out.
package struct AudioSessionOpening: Codable, Equatable, Sendable {
    /// Every member left out.
    package static let empty = AudioSessionOpening()

    /// What the client is called in lists and on standard error; its process's name when left out.
    package var name: String?
    /// As ``AudioConfigurationBody``; `soloAmbient` when left out.
    package var category: String?
    package var mode: String?
    package var options: [String]?
    package var preferredOutput: String?
    package var preferredInput: String?
    /// Whether it is activated at once; the stream's second line then says what came of it.
    package var active: Bool?

    /// - Throws: `badParam`, saying what does not fit and what would.
    package func configuration() throws(AudioSessionError) -> AudioSessionConfiguration {
        try AudioConfigurationBody(
            category: category ?? AudioSessionConfiguration.standard.category.rawValue, mode: mode, options: options,
            preferredOutput: preferredOutput, preferredInput: preferredInput
        ).configuration()
    }
}

/// Body of `POST /v1/audio/route`: the output that what goes on is to have.
package struct AudioRouteChoice: Codable, Equatable, Sendable {
    /// The server's name of a device, or a kind of port (`builtInSpeaker`, `bluetoothHFP`, ...); left out or null: none
    /// in particular.
    package var output: String?

    package init(output: String? = nil) {
        self.output = output
    }

    /// The same, if it is one that may be.
    package func validated() throws(AudioSessionError) -> String? {
        guard let output else { return nil }
        guard (1...AudioSessionConfiguration.maximumNameBytes).contains(output.utf8.count) else {
            throw AudioSessionError(
                .badParam, "the name of an output has 1 to \(AudioSessionConfiguration.maximumNameBytes) bytes")
        }
        return output
    }
}

/// Body of `POST /v1/audio/sessions/{id}/speaker`.
package struct AudioSpeakerOverride: Codable, Equatable, Sendable {
    /// Whether its sound is to come from the speaker, until its route changes; false takes that back.
    package var on: Bool
}

package import RingwakeCore

/// The configuration of an audio session: body of `PUT /v1/audio/sessions/{id}` and of `POST /v1/calls/{call}/audio`,
/// and the member `audio` of the body that fulfills an answer.
package struct AudioConfigurationBody: Codable, Equatable, Sendable {
    package var category: String
    /// Default: `default`.
    package var mode: String?
    package var options: [String]?
    /// The server's name of a device, or a kind of port (`builtInSpeaker`, `bluetoothHFP`, ...).
    package var preferredOutput: String?
    package var preferredInput: String?

    /// - Throws: `badParam`, with what is wrong and what is allowed.
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

/// Body of `POST /v1/audio/sessions`; every member is optional.
package struct AudioSessionOpening: Codable, Equatable, Sendable {
    /// A body without members.
    package static let empty = AudioSessionOpening()

    /// Name of the client in lists and logs; default: the app's or the process's name.
    package var name: String?
    /// As in ``AudioConfigurationBody``; default: `soloAmbient`.
    package var category: String?
    package var mode: String?
    package var options: [String]?
    package var preferredOutput: String?
    package var preferredInput: String?
    /// Whether to activate the session at once. The stream's second line then has the result.
    package var active: Bool?

    /// - Throws: `badParam`, with what is wrong and what is allowed.
    package func configuration() throws(AudioSessionError) -> AudioSessionConfiguration {
        try AudioConfigurationBody(
            category: category ?? AudioSessionConfiguration.standard.category.rawValue, mode: mode, options: options,
            preferredOutput: preferredOutput, preferredInput: preferredInput
        ).configuration()
    }
}

/// Body of `POST /v1/audio/route`: the output that calls and sessions are to use.
package struct AudioRouteChoice: Codable, Equatable, Sendable {
    /// The server's name of a device, or a kind of port (`builtInSpeaker`, `bluetoothHFP`, ...). Absent or null:
    /// automatic.
    package var output: String?

    package init(output: String? = nil) {
        self.output = output
    }

    /// The output if it is valid.
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
    /// Whether to use the speaker until the route changes; false undoes that.
    package var on: Bool
}

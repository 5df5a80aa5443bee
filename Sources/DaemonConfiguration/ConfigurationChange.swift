/// What a reload changes.
package struct ConfigurationChange {
    /// The configuration in force from now on: the new one, but for what needs a restart.
    package let configuration: Configuration
    /// The sections, and keys without a section, that changed and are in force after a restart only.
    package let needsRestart: [String]
    fileprivate let former: Configuration

    /// A part of the configuration that is another now; nil when it is not.
    package func slice<Slice: Equatable>(_ path: KeyPath<Configuration, Slice>) -> Slice? {
        let new = configuration[keyPath: path]
        return new == former[keyPath: path] ? nil : new
    }
}

extension Configuration {
    /// What becomes of `old` when a running daemon is given `new`, part for part.
    package static func change(from old: Configuration, to new: Configuration) -> ConfigurationChange {
        var current = new
        let late = table.filter { $0.needsRestart && $0.differs(old, new) }
        for setting in late { setting.copy(old, &current) }
        return ConfigurationChange(configuration: current, needsRestart: late.map { $0.label(new) }, former: old)
    }
}

/// The result of a reload.
package struct ConfigurationChange {
    /// The configuration to use now: the new one, except for what needs a restart.
    package let configuration: Configuration
    /// Changed sections, and changed keys outside sections, that need a restart.
    package let needsRestart: [String]
    fileprivate let former: Configuration

    /// A part of the configuration if it has changed; otherwise nil.
    package func slice<Slice: Equatable>(_ path: KeyPath<Configuration, Slice>) -> Slice? {
        let new = configuration[keyPath: path]
        return new == former[keyPath: path] ? nil : new
    }
}

extension Configuration {
    /// Compares the running configuration with a new one. Settings that need a restart keep their old value.
    package static func change(from old: Configuration, to new: Configuration) -> ConfigurationChange {
        var current = new
        let late = table.filter { $0.needsRestart && $0.differs(old, new) }
        for setting in late { setting.copy(old, &current) }
        return ConfigurationChange(configuration: current, needsRestart: late.map { $0.label(new) }, former: old)
    }
}

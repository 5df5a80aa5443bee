/// The version of the daemon and the command line, which are released together.
package enum ProductVersion {
    /// A version as defined by semver.org.
    package static let current = "0.1.0"
}

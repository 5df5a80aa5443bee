/// The version of daemon and command line, which are released together.
package enum ProductVersion {
    /// As semver.org writes it.
    package static let current = "0.1.0"
}

/// The header fields of a push and its answer, in lower case as in HTTP/2.
///
/// See "Sending notification requests to APNs" and "Handling notification responses from APNs".
package enum ProviderField {
    /// Prefix of all names except `authorization`.
    package static let prefix = "apns-"

    package static let authorization = "authorization"
    package static let id = "apns-id"
    /// Only in answers of the development environment.
    package static let uniqueID = "apns-unique-id"
    package static let topic = "apns-topic"
    package static let pushType = "apns-push-type"
    package static let priority = "apns-priority"
    package static let expiration = "apns-expiration"
    package static let collapseID = "apns-collapse-id"
    /// Not Apple's: with `1` an accepted push is answered with its outcome.
    package static let outcome = "ringwake-outcome"
}

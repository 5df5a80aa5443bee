/// The header fields of a push and of its answer, named as HTTP/2 has them: in lower case.
///
/// See "Sending notification requests to APNs" and "Handling notification responses from APNs".
package enum ProviderField {
    /// What the names of all have in front, `authorization` excepted.
    package static let prefix = "apns-"

    package static let authorization = "authorization"
    package static let id = "apns-id"
    /// In answers of the development environment.
    package static let uniqueID = "apns-unique-id"
    package static let topic = "apns-topic"
    package static let pushType = "apns-push-type"
    package static let priority = "apns-priority"
    package static let expiration = "apns-expiration"
    package static let collapseID = "apns-collapse-id"
}

import CRingwakeSystemd
import Glibc

/// A descriptor that travels in a message.
///
/// A received descriptor is owned: it is closed with the last reference to this object, or earlier by ``close()``.
package final class DBusFileDescriptor {
    /// -1 after ``close()``.
    package private(set) var number: Int32
    private let isOwned: Bool

    /// Takes ownership of the descriptor.
    package init(owning number: Int32) {
        self.number = number
        isOwned = true
    }

    /// For an argument: the message gets a copy, so the caller's descriptor need only live until the call is made.
    package init(borrowing number: Int32) {
        self.number = number
        isOwned = false
    }

    deinit {
        if isOwned, number >= 0 { _ = Glibc.close(number) }
    }

    /// Closes it now, if it is owned. Idempotent.
    package func close() {
        if isOwned, number >= 0 { _ = Glibc.close(number) }
        number = -1
    }
}

extension DBusFileDescriptor: Hashable {
    /// The same object; two descriptors of one file are not equal.
    package static func == (one: DBusFileDescriptor, other: DBusFileDescriptor) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

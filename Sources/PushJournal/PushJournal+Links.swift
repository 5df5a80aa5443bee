internal import RunLoop
package import RingwakeCore

/// Linked devices, and the pushes that wait for them at their gateway.
extension PushJournal {
    /// Makes a waiting push durable, and removes others, all or nothing.
    /// - Parameter completion: called later, from the loop: when it is durable, or with the error. After an error nothing
    ///   is changed.
    package func append(
        _ row: MailRow, replacing: [MailRowKey], completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) {
        perform(.append(row, replacing: replacing), bytes: row.payload.count + row.facts.count, completion)
    }

    /// Removes waiting pushes that are settled, soon. If that fails they are there at the next start.
    package func remove(_ keys: [MailRowKey]) {
        guard !isClosed, !keys.isEmpty else { return }
        gathered.work.append(.link(ticket: nil, .remove(keys)))
        require(.soon)
    }

    /// Stores a device; it replaces the former record.
    package func put(_ device: DeviceRow, completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        perform(.put(device), bytes: device.data.count, completion)
    }

    /// Removes a device, and the pushes that wait for it.
    package func removeDevice(_ id: String, completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        perform(.removeDevice(id), bytes: 0, completion)
    }

    /// Reads payloads of waiting pushes, after all earlier work has been written or has failed.
    /// - Parameter completion: called later, from the loop.
    package func payloads(
        _ keys: [MailRowKey], completion: @escaping (Result<MailPayloads, RingwakeError>) -> Void
    ) {
        guard !isClosed, waiting.reads < limits.maximumWaitingReads * 64 else {
            let error = isClosed ? closedError : readsError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.readMail(ticket: waiting.addRead(completion), keys))
    }

    private func perform(
        _ work: LinkWork, bytes: Int, _ completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) {
        guard !isClosed, hasRoom, waiting.states < limits.maximumWaiting,
            waiting.stateBytes + bytes <= limits.maximumWaitingBytes
        else {
            let error = isClosed ? closedError : fullError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.link(ticket: waiting.addState(bytes: bytes, completion), work))
    }
}

import Testing

@testable import RingwakeKit

@Suite("List of the device's calls")
struct CallListStateMachineTests {
    private var list: CallListStateMachine

    init() {
        var configuration = RingwakeClient.Configuration(app: "com.example.phone", socketPath: "/nowhere")
        configuration.firstRetry = .milliseconds(100)
        configuration.lastRetry = .seconds(5)
        list = CallListStateMachine(configuration)
    }

    private static let gone = RingwakeKitError(.unreachable, "gone")
    private static let ringing = [Call(id: "c1", app: "com.example.phone", state: .ringing)]
    private static let two = [Call(id: "c1", app: "com.example.other", state: .ringing)] + ringing

    @Test("the stream opens with the first reader, the list is requested then, and the last reader closes it")
    mutating func readers() {
        #expect(list.begin() == [.openStream])
        #expect(list.begin() == [])
        #expect(list.opened() == [.fetch])
        #expect(list.fetched(Self.ringing) == [.publish(Self.ringing)])
        #expect(list.calls == Self.ringing && list.state == .open(.none))
        #expect(list.end() == [.closeStream])
        #expect(list.calls == nil && list.state == .idle)
        #expect(list.end() == [] && list.changed() == [] && list.retryDue() == [])
    }

    @Test("changes while a request is in progress make one more request, and an equal list is not published")
    mutating func changes() {
        _ = list.begin()
        _ = list.opened()
        for _ in 1...3 { #expect(list.changed() == []) }
        #expect(list.state == .open(.outdated))
        #expect(list.fetched(Self.ringing) == [.publish(Self.ringing), .fetch])
        #expect(list.state == .open(.inProgress))
        #expect(list.fetched(Self.ringing) == [])
        #expect(list.state == .open(.none))
        #expect(list.fetched(Self.two) == [], "nobody requested it")
        #expect(list.changed() == [.fetch])
        #expect(list.fetched(Self.two) == [.publish(Self.two)])
    }

    @Test("a broken stream keeps the list, and the next stream requests it again")
    mutating func broken() {
        _ = list.begin()
        _ = list.opened()
        _ = list.fetched(Self.ringing)
        #expect(list.failed(Self.gone, lasted: .zero) == [.closeStream, .retry(after: .milliseconds(100))])
        #expect(list.calls == Self.ringing && list.state == .waiting)
        #expect(list.fetched([]) == [], "an answer that comes too late")
        #expect(list.failed(Self.gone, lasted: .zero) == [])
        #expect(list.retryDue() == [.openStream])
        #expect(list.failed(Self.gone, lasted: .zero) == [.closeStream, .retry(after: .milliseconds(200))])
        #expect(list.retryDue() == [.openStream] && list.opened() == [.fetch])
        #expect(list.fetched([]) == [.publish([])])
        #expect(list.failed(Self.gone, lasted: .seconds(5)) == [.closeStream, .retry(after: .milliseconds(100))])
    }

    @Test("whoever may not see the calls is told, and may try again")
    mutating func notPermitted() {
        let error = RingwakeKitError(.notPermitted, "because")
        _ = list.begin()
        #expect(list.failed(error, lasted: .zero) == [.closeStream, .fail(error)])
        #expect(list.state == .idle && list.begin() == [.openStream])
        _ = list.opened()
        #expect(list.failed(error, lasted: .zero) == [.closeStream, .fail(error)])
    }
}

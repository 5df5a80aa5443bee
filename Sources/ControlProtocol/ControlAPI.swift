internal import RingwakeCore

/// The control API: HTTP/1.1 and JSON on a unix socket. This module holds its messages, shared by both ends.
///
///     curl --unix-socket /run/ringwake/control.sock http://localhost/v1/status
///
/// | request | who | answer |
/// |---|---|---|
/// | `GET /v1/status` | any local user | ``StatusMessage`` |
/// | `GET /v1/path` | any local user | ``PathMessage``; `?watch=true`: one a line |
/// | `GET /v1/reachability` | any local user | ``TargetListMessage``; `?watch=true`: ``TargetMessage``, one a line |
/// | `GET /v1/apps`, `GET /v1/apps/{app}` | owner | ``AppListMessage``, ``AppMessage`` |
/// | `DELETE /v1/apps/{app}` | owner | ``AppMessage``, its tokens unregistered |
/// | `GET /v1/apps/{app}/pushes` | handler | what waits, as on standard input: it is the handler's from now on |
/// | the same | owner | ``CallListMessage`` of what waits: it goes on waiting |
/// | `GET /v1/apps/{app}/handler` | the app's user | the stream of a connected handler: ``EventMessage``, one a line |
/// | `GET`, `PUT`, `DELETE /v1/apps/{app}/state` | owner; handler | the app's own octets; ``AppStateMessage`` |
/// | `DELETE /v1/apps/{app}/strikes` | owner | ``AppMessage`` |
/// | `POST /v1/reload` | owner | ``ReloadMessage`` |
/// | `GET /v1/pushes`, `GET /v1/pushes/{push-id}` | owner; handler | ``PushListMessage``, ``PushMessage`` |
/// | `GET /v1/calls`, `GET /v1/calls/{call}` | owner; handler | ``CallListMessage``, ``CallMessage`` |
/// | `POST /v1/calls/{call}/{verb}` | see ``CallVerb`` | ``CallMessage`` |
/// | `GET /v1/events` | owner; handler | ``EventMessage``, one a line, until the client closes |
/// | `GET /v1/audio` | any local user | ``AudioStatusMessage``; without names but for the owner and handlers |
/// | `GET`, `POST /v1/audio/route` | owner | ``AudioStatusMessage``, connected; body ``AudioRouteChoice`` |
/// | `GET /v1/audio/sessions` | owner; handler | ``AudioSessionListMessage`` |
/// | `POST /v1/audio/sessions` | owner; handler | opens one: ``AudioNoticeMessage``, one a line; body ``AudioSessionOpening`` |
/// | `PUT /v1/audio/sessions/{id}` | owner; its handler | ``AudioSessionMessage``; body ``AudioConfigurationBody`` |
/// | `POST /v1/audio/sessions/{id}/{verb}` | owner; its handler | the same; `activate`, `deactivate`, `speaker` |
/// | `GET`, `PUT /v1/dnd` | owner | ``DoNotDisturbMessage``; body ``DoNotDisturbChange`` |
/// | `GET /v1/lists` | owner | ``CallerListsMessage`` |
/// | `GET /v1/lists/check?caller=` | owner | ``CallerCheckMessage`` |
/// | `GET /v1/lists/{list}` | owner | ``CallerEntriesMessage``; `?after=`, `?limit=` |
/// | `PUT`, `DELETE /v1/lists/{list}` | owner | ``CallerListMessage``; body ``CallerListCreation`` |
/// | `POST /v1/lists/{list}/entries` | owner | ``CallerListMessage``; body ``CallerListChange`` |
/// | `POST /v1/lists/{list}/import` | owner | ``ImportMessage``; body ``CallerListCreation`` |
/// | `POST`, `DELETE /v1/imports/{id}` | owner | ``ImportMessage``; body: lines, see ``ImportMessage`` |
/// | `POST /v1/imports/{id}/finish` | owner | ``CallerListMessage``; body ``ImportFinish`` |
///
/// `?app=` narrows pushes, calls and events to one app, `?call=` events to one call. Lists take `?limit=` and
/// `?before=`. The owner is root or the daemon's user, by SO_PEERCRED. A handler sends its wake secret as
/// `Authorization: Bearer SECRET`, sees its own app only, and acts on the calls that it has. Every refusal is an
/// ``ErrorMessage``. `Documentation/control-api.yaml` describes all of it for every language.
package enum ControlAPI {
    /// The `"schema"` of every message. A change that would break a reader raises it.
    package static let schema = 1

    /// The socket's file name in the runtime directory.
    package static let socketName = "control.sock"

    /// How many pushes, or calls of the log, a list holds where `limit` does not say.
    package static let defaultListLimit = 50
    /// The most destinations that one request for reachability may name.
    package static let maximumTargets = 64

    /// The most that `limit` may ask for.
    package static let maximumListLimit = 500

    /// Whether a list of callers may have this name: 1 to 64 letters, digits, `-`, `_` and `.`, not beginning with a dot,
    /// and not `check`, which is a path of its own.
    package static func isListName(_ name: String) -> Bool {
        name.utf8.allSatisfy(\.isNameByte) && (1...64).contains(name.utf8.count) && !name.hasPrefix(".")
            && name != "check"
    }

    /// The most octets that an app may have kept for it: what fits into the body of one request.
    package static let maximumStateBytes = 64 * 1024
}

/// What can be done to a call: the last part of `POST /v1/calls/{call}/{verb}`.
package enum CallVerb: String, Sendable, CaseIterable {
    /// Handler: the call is real; body ``CallReport``. With `"ring": true` it is confirmed too, as by ``ring``.
    case report
    /// Handler: the reported call is confirmed. The answer comes once it rings: when the journal has that it does.
    case ring
    /// Handler: the action in ``ActionResult`` is done.
    case fulfill
    /// Handler: the action in ``ActionResult`` cannot be done.
    case fail
    /// Handler: the other side ended the call; body ``CallEnding``.
    case ended
    /// Handler: what the call's audio session is; body ``AudioConfigurationBody``. Before it fulfils the answer, or later.
    case audio
    /// Handler: take over a call that has lost its own handler; what it owes is asked for anew.
    case claim
    /// User: take the ringing call; body ``CallAnswer``.
    case answer
    /// User: refuse the ringing call.
    case decline
    /// User: hang up, in any state.
    case end
    /// User: hold the connected call.
    case hold
    /// User: go on with the held call; body ``CallAnswer``.
    case unhold
    /// User: turn the microphone off.
    case mute
    /// User: turn the microphone on again.
    case unmute
    /// User: play the digits in ``CallDigits``.
    case dtmf

    /// Whether this is the handler's to say; the rest is the user's. The owner may say both.
    package var isHandlers: Bool {
        switch self {
        case .report, .ring, .fulfill, .fail, .ended, .audio, .claim: true
        case .answer, .decline, .end, .hold, .unhold, .mute, .unmute, .dtmf: false
        }
    }
}

/// Body of `report`: what the handler knows of the call. Every member may be left out.
package struct CallReport: Codable, Equatable, Sendable {
    /// Who calls: a SIP URI, a number, any handle of the app's.
    package var caller: String?
    /// The name to show.
    package var callerName: String?
    /// Whether the call has video.
    package var video: Bool?
    /// Whether the call is confirmed and is to ring; else `ring` confirms it.
    package var ring: Bool?

    package init(caller: String? = nil, callerName: String? = nil, video: Bool? = nil, ring: Bool? = nil) {
        self.caller = caller
        self.callerName = callerName
        self.video = video
        self.ring = ring
    }
}

/// Body of `answer` and `unhold`; every member may be left out.
package struct CallAnswer: Codable, Equatable, Sendable {
    /// What becomes of the other calls that go on: `hold` or `end`. Absent: what the app's policy says.
    package var others: String?

    package init(others: String? = nil) {
        self.others = others
    }
}

/// Body of `dtmf`: one or more of `0`-`9`, `*`, `#`, `A`-`D`, and `,` for a pause (RFC 4733 § 3.2).
package struct CallDigits: Codable, Equatable, Sendable {
    package var digits: String

    package init(digits: String) {
        self.digits = digits
    }
}

/// Body of `fulfill` and `fail`: which action it speaks of, `CallAction` as text. Several of one kind are answered in
/// the order that they were asked for.
package struct ActionResult: Codable, Equatable, Sendable {
    package var action: String
    /// Of `fulfill` with the action `answer` or `unhold`: what the call's audio session is, as ``CallVerb/audio`` says it
    /// alone. It is configured first, and both is done or neither.
    package var audio: AudioConfigurationBody?

    package init(action: String, audio: AudioConfigurationBody? = nil) {
        self.action = action
        self.audio = audio
    }
}

/// Body of `ended`: the reason, one of `failed`, `remoteEnded`, `unanswered`, `answeredElsewhere`,
/// `declinedElsewhere`. Absent: `remoteEnded`.
package struct CallEnding: Codable, Equatable, Sendable {
    package var reason: String?

    package init(reason: String? = nil) {
        self.reason = reason
    }
}

/// The answer to a request that was refused or failed.
package struct ErrorMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The slug of the error's code; `Documentation/errors.md` lists them.
    package var error: String
    /// What happened, why, and what to do.
    package var message: String
    /// Of an audio session's failure: the name of its code, and Apple's number of it.
    package var code: String?
    package var number: Int32?

    package init(error: String, message: String, code: String? = nil, number: Int32? = nil) {
        self.error = error
        self.message = message
        self.code = code
        self.number = number
    }
}

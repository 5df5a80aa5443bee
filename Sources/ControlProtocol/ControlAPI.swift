internal import RingwakeCore

/// The control API: HTTP/1.1 and JSON on a unix socket. This module has its messages, for both ends.
///
///     curl --unix-socket /run/ringwake/control.sock http://localhost/v1/status
///
/// | request | who | answer |
/// |---|---|---|
/// | `GET /v1/status` | person | ``StatusMessage``; for a handler, and on the status socket, ``PublicStatusMessage`` |
/// | `GET /v1/path` | person; status socket | ``PathMessage``; `?watch=true`: one a line |
/// | `GET /v1/reachability` | person; status socket | ``TargetListMessage``; `?watch=true`: ``TargetMessage``, one a line |
/// | `GET /v1/telephony` | person; handler | ``TelephonyMessage`` |
/// | `GET /v1/apps`, `GET /v1/apps/{app}` | owner | ``AppListMessage``, ``AppMessage`` |
/// | `DELETE /v1/apps/{app}` | owner | ``AppMessage``, its tokens unregistered |
/// | `GET /v1/apps/{app}/pushes` | handler | waiting pushes, as on standard input; the handler owns them from then on |
/// | the same | person | ``CallListMessage`` of the waiting calls, which keep waiting |
/// | `GET /v1/apps/{app}/handler` | person; handler | the stream of a connected handler: ``EventMessage``, one a line |
/// | `GET`, `PUT`, `DELETE /v1/apps/{app}/state` | owner; handler | the app's stored bytes; ``AppStateMessage`` |
/// | `GET /v1/apps/{app}/restrictions` | person; handler | ``RestrictionsMessage`` |
/// | `GET /v1/apps/{app}/restrictions/caller?caller=` | owner; handler | ``CallerBlockMessage`` |
/// | `POST /v1/apps/{app}/tokens` | owner | ``AppMessage``, with new tokens; the former ones have expired |
/// | `PUT`, `DELETE /v1/apps/{app}/fault` | owner | ``AppMessage``; body ``PushFaultMessage`` |
/// | `DELETE /v1/apps/{app}/strikes` | owner | ``AppMessage`` |
/// | `POST /v1/reload` | owner | ``ReloadMessage`` |
/// | `GET /v1/pushes`, `GET /v1/pushes/{push-id}` | person; handler | ``PushListMessage``, ``PushMessage`` |
/// | `GET /v1/calls`, `GET /v1/calls/{call}` | person; handler | ``CallListMessage``, ``CallMessage`` |
/// | `POST /v1/calls/{call}/{verb}` | see ``CallVerb`` | ``CallMessage`` |
/// | `GET /v1/events` | person; handler | ``EventMessage``, one a line, until the client closes |
/// | `GET /v1/audio` | person; handler | ``AudioStatusMessage`` |
/// | `GET`, `POST /v1/audio/route` | person | ``AudioStatusMessage``, connected; body ``AudioRouteChoice`` |
/// | `GET /v1/audio/sessions` | person; handler | ``AudioSessionListMessage`` |
/// | `POST /v1/audio/sessions` | person; handler | ``AudioNoticeMessage``, one a line; body ``AudioSessionOpening`` |
/// | `PUT /v1/audio/sessions/{id}` | person; its handler | ``AudioSessionMessage``; body ``AudioConfigurationBody`` |
/// | `POST /v1/audio/sessions/{id}/{verb}` | person; its handler | the same; `activate`, `deactivate`, `speaker` |
/// | `GET`, `PUT /v1/dnd` | person | ``DoNotDisturbMessage``; body ``DoNotDisturbChange`` |
/// | `GET /v1/protection`, `POST /v1/protection/lock` | person | ``ProtectionMessage`` |
/// | `POST /v1/protection/unlock` | owner | the same; body ``ProtectionUnlock`` |
/// | `POST /v1/protection/rekey`, `POST /v1/protection/delete` | owner | the same; body ``ProtectionClassChoice`` |
/// | `POST /v1/protection/passphrase` | owner | the same; body ``ProtectionPassphrase`` |
/// | `GET /v1/lists` | owner | ``CallerListsMessage`` |
/// | `GET /v1/lists/check?caller=` | owner | ``CallerCheckMessage`` |
/// | `GET /v1/lists/{list}` | owner | ``CallerEntriesMessage``; `?after=`, `?limit=` |
/// | `PUT`, `DELETE /v1/lists/{list}` | owner | ``CallerListMessage``; body ``CallerListCreation`` |
/// | `POST /v1/lists/{list}/entries` | owner | ``CallerListMessage``; body ``CallerListChange`` |
/// | `POST /v1/lists/{list}/import` | owner | ``ImportMessage``; body ``CallerListCreation`` |
/// | `POST`, `DELETE /v1/imports/{id}` | owner | ``ImportMessage``; body: lines, see ``ImportMessage`` |
/// | `POST /v1/imports/{id}/finish` | owner | ``CallerListMessage``; body ``ImportFinish`` |
///
/// `?pushes=true` makes `/v1/events` the stream of senders' requests, for the owner. `?app=` limits pushes, calls and events to one app, `?call=` events to one call. Lists take `?limit=` and
/// `?before=`. The owner is root or the daemon's user (by SO_PEERCRED); a person is the owner, or a member of the
/// socket's group. A handler sends its wake secret as `Authorization: Bearer SECRET`; it sees its own app only, and acts
/// on its own calls. The status socket is for every local user, and answers nothing else. Every refusal is an ``ErrorMessage``.
/// `Documentation/control-api.yaml` is the complete, language-independent description.
package enum ControlAPI {
    /// The `"schema"` of every message. An incompatible change increases it.
    package static let schema = 1

    /// The socket's file name in the runtime directory.
    package static let socketName = "control.sock"
    /// The file name of the status socket, in the same directory.
    package static let statusSocketName = "status.sock"

    /// Default number of pushes, or of calls of the log, in a list.
    package static let defaultListLimit = 50
    /// Maximum targets in one reachability request.
    package static let maximumTargets = 64

    /// Maximum value of `limit`.
    package static let maximumListLimit = 500

    /// Whether a list of callers may have this name: 1 to 64 letters, digits, `-`, `_` and `.`; not starting with a
    /// dot, and not `check`, which is a path of its own.
    package static func isListName(_ name: String) -> Bool {
        name.utf8.allSatisfy(\.isNameByte) && (1...64).contains(name.utf8.count) && !name.hasPrefix(".")
            && name != "check"
    }

    /// Maximum bytes of an app's stored state, so that it fits into the body of one request.
    package static let maximumStateBytes = 64 * 1024
}

/// Actions on a call: the last part of `POST /v1/calls/{call}/{verb}`.
package enum CallVerb: String, Sendable, CaseIterable {
    /// Handler: reports the call; body ``CallReport``. `"ring": true` also confirms it, as ``ring`` does.
    case report
    /// Handler: confirms the reported call. The answer comes when it rings, after the journal has recorded that.
    case ring
    /// Handler: knows more about its call, or something has changed; body ``CallReport``, without `ring`.
    case update
    /// Handler: reports that the action in ``ActionResult`` succeeded.
    case fulfill
    /// Handler: reports that the action in ``ActionResult`` failed.
    case fail
    /// Handler: reports that the other side ended the call; body ``CallEnding``.
    case ended
    /// Handler: reports that the other side of an outgoing call is being reached.
    case connecting
    /// Handler: reports that the other side of an outgoing call has answered.
    case connected
    /// Handler: configures the call's audio session; body ``AudioConfigurationBody``. Before it fulfills the answer, or
    /// later.
    case audio
    /// Handler: claims a call that has lost its handler. Its open actions are requested again.
    case claim
    /// User, or the call's handler, as in all below: answers the ringing call; body ``CallAnswer``.
    case answer
    /// User: declines the ringing call.
    case decline
    /// User: hangs up, in any state.
    case end
    /// User: holds the connected call.
    case hold
    /// User: resumes the held call; body ``CallAnswer``.
    case unhold
    /// User: mutes the microphone.
    case mute
    /// User: unmutes the microphone.
    case unmute
    /// User: plays the digits in ``CallDigits``.
    case dtmf
    /// User: merges the call with another one of its handler; body ``CallMerge``.
    case merge

    /// Whether it is for handlers only; the others are for users, and for the handler that has the call. The owner may
    /// use all.
    package var isHandlers: Bool {
        switch self {
        case .report, .ring, .update, .fulfill, .fail, .ended, .connecting, .connected, .audio, .claim: true
        case .answer, .decline, .end, .hold, .unhold, .mute, .unmute, .dtmf, .merge: false
        }
    }
}

/// Body of `report` and `update`: what the handler knows about the call. Every member is optional; an update has one.
package struct CallReport: Codable, Equatable, Sendable {
    /// The caller: a SIP URI, a number, any handle that the app uses.
    package var caller: String?
    /// Name to show.
    package var callerName: String?
    /// Whether the call has video.
    package var video: Bool?
    /// Whether the handler can hold the call. Default: yes.
    package var supportsHold: Bool?
    /// Whether the handler can play digits in the call. Default: yes.
    package var supportsDTMF: Bool?
    /// Whether the handler can mix the call with another one that it has. Default: no.
    package var supportsMerge: Bool?
    /// Only for `report`: whether the call is confirmed and is to ring; otherwise `ring` confirms it.
    package var ring: Bool?

    package init(
        caller: String? = nil, callerName: String? = nil, video: Bool? = nil, supportsHold: Bool? = nil,
        supportsDTMF: Bool? = nil, supportsMerge: Bool? = nil, ring: Bool? = nil
    ) {
        self.caller = caller
        self.callerName = callerName
        self.video = video
        self.supportsHold = supportsHold
        self.supportsDTMF = supportsDTMF
        self.supportsMerge = supportsMerge
        self.ring = ring
    }
}

/// Body of `POST /v1/calls`: a call that the user of this device begins. The answer is a ``CallMessage``.
package struct CallStart: Codable, Equatable, Sendable {
    /// Bundle ID of the app that makes the call. A handler may leave it out.
    package var app: String?
    /// Who is called: a SIP URI, a number, any handle that the app uses.
    package var to: String
    /// Name of who is called, to show.
    package var name: String?
    /// Whether the call has video.
    package var video: Bool?
    /// The call's ID within its app. Default: a new UUID.
    package var call: String?
    /// What happens to other calls in progress: `hold` or `end`. Default: the app's policy.
    package var others: String?

    package init(
        app: String? = nil, to: String, name: String? = nil, video: Bool? = nil, call: String? = nil,
        others: String? = nil
    ) {
        self.app = app
        self.to = to
        self.name = name
        self.video = video
        self.call = call
        self.others = others
    }
}

/// Body of `answer` and `unhold`; every member is optional.
package struct CallAnswer: Codable, Equatable, Sendable {
    /// What happens to other calls in progress: `hold` or `end`. Default: the app's policy.
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

/// Body of `merge`: the other call.
package struct CallMerge: Codable, Equatable, Sendable {
    /// ID of another call of the same app.
    package var with: String

    package init(with: String) {
        self.with = with
    }
}

/// Body of `fulfill` and `fail`: the action, `CallAction` as text. Several actions of one kind are completed in the
/// order in which they were requested.
package struct ActionResult: Codable, Equatable, Sendable {
    package var action: String
    /// Only for `fulfill` with the action `answer`, `start` or `unhold`: configuration of the call's audio session, as for
    /// ``CallVerb/audio``. The session is configured first; if that fails, the action isn't fulfilled either.
    package var audio: AudioConfigurationBody?

    package init(action: String, audio: AudioConfigurationBody? = nil) {
        self.action = action
        self.audio = audio
    }
}

/// Body of `ended`: the reason, one of `failed`, `remoteEnded`, `unanswered`, `answeredElsewhere`, `declinedElsewhere`;
/// of an outgoing call one of `failed`, `remoteEnded`, `unanswered`, `busy`, `declined`. Default: `remoteEnded`.
package struct CallEnding: Codable, Equatable, Sendable {
    package var reason: String?

    package init(reason: String? = nil) {
        self.reason = reason
    }
}

/// The answer to a request that was refused or failed.
package struct ErrorMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Slug of the error's code; `Documentation/errors.md` lists them.
    package var error: String
    /// What happened, why, and what to do.
    package var message: String
    /// Only for audio sessions: the name of the error's code, and Apple's number.
    package var code: String?
    package var number: Int32?

    package init(error: String, message: String, code: String? = nil, number: Int32? = nil) {
        self.error = error
        self.message = message
        self.code = code
        self.number = number
    }
}

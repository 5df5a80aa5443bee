package import RingwakeCore

extension CallVerb {
    /// The event for a request with this verb.
    ///
    /// - Parameters:
    ///   - key: the call that it names.
    ///   - wake: the handler that sent it; nil for the owner.
    ///   - body: its body.
    ///   - isOutgoing: whether the user of this device began the call.
    ///   - restriction: only for `report`: what keeps the call out, now that the handler has named the caller. It may
    ///     complete the report.
    /// - Throws: `invalidRequest` if the body isn't valid, `notPermitted` if only a handler may send it.
    package func event(
        on key: CallKey, by wake: WakeID?, body: [UInt8], isOutgoing: Bool = false,
        restriction: (inout CallUpdate) -> Restriction?
    ) throws(RingwakeError) -> Event {
        switch self {
        case .ring: return .ringConfirmed(key, by: wake)
        case .connecting: return .progressed(key, .connecting, by: wake)
        case .connected: return .progressed(key, .connected, by: wake)
        case .answer: return .answerRequested(key, others: try others(body), by: wake)
        case .decline: return .declineRequested(key, by: wake)
        case .end: return .endRequested(key, by: wake)
        case .hold: return .holdRequested(key, true, by: wake)
        case .unhold: return .holdRequested(key, false, others: try others(body), by: wake)
        case .mute: return .muteRequested(key, true, by: wake)
        case .unmute: return .muteRequested(key, false, by: wake)
        case .dtmf: return .digitsRequested(key, try digits(body), by: wake)
        case .merge: return .mergeRequested(key, with: try other(than: key, body), by: wake)
        case .claim:
            guard let wake else {
                throw RingwakeError(.notPermitted, "a call is claimed by a handler, with the secret of its wake")
            }
            return .claimed(key, by: wake)
        case .report:
            let report = try ControlBody.decode(CallReport.self, from: body, empty: CallReport())
            var update = try report.update()
            let kept = restriction(&update)
            return .reported(key, update, ring: report.ring ?? false, by: wake, kept)
        case .update:
            let report = try ControlBody.decode(CallReport.self, from: body, empty: nil)
            guard report.ring == nil else {
                throw RingwakeError(.invalidRequest, "'ring' goes with 'report'; 'update' makes no call ring")
            }
            guard report != CallReport() else {
                throw RingwakeError(
                    .invalidRequest,
                    "the update is empty: give one of 'caller', 'callerName', 'video', 'supportsHold', 'supportsDTMF' and "
                        + "'supportsMerge'")
            }
            return .updated(key, try report.update(), by: wake)
        case .audio:
            let body = try ControlBody.decode(AudioConfigurationBody.self, from: body, empty: nil)
            return .audioConfigured(key, try CallVerb.configuration(body), by: wake)
        case .fulfill:
            let result = try ControlBody.decode(ActionResult.self, from: body, empty: nil)
            let (action, audio) = (try action(of: result), try audioConfiguration(in: result))
            return .fulfilled(key, action, by: wake, audio: audio)
        case .fail:
            let result = try ControlBody.decode(ActionResult.self, from: body, empty: nil)
            guard result.audio == nil else {
                throw RingwakeError(.invalidRequest, "'audio' goes with 'fulfill', not with 'fail'")
            }
            return .actionFailed(key, try action(of: result), by: wake)
        case .ended:
            let name = try ControlBody.decode(CallEnding.self, from: body, empty: CallEnding()).reason ?? "remoteEnded"
            let known = isOutgoing ? CallEndReason.reportableOfOutgoing : CallEndReason.reportable
            guard let reason = CallEndReason(rawValue: name), known.contains(reason) else {
                let reasons = known.map(\.rawValue).sorted().joined(separator: ", ")
                let kind = isOutgoing ? "an outgoing call" : "a call"
                throw RingwakeError(.invalidRequest, "a handler ends \(kind) with one of \(reasons), not '\(name)'")
            }
            return .remoteEnded(key, reason, by: wake)
        }
    }

    /// The audio configuration in the body of `fulfill`; nil if absent.
    private func audioConfiguration(in result: ActionResult) throws(RingwakeError) -> AudioSessionConfiguration? {
        guard let audio = result.audio else { return nil }
        guard [CallAction.answer, .start, .unhold].contains(where: { $0.rawValue == result.action }) else {
            throw RingwakeError(.invalidRequest, "'audio' goes with the action 'answer', 'start' or 'unhold'")
        }
        return try CallVerb.configuration(audio)
    }

    private static func configuration(
        _ body: AudioConfigurationBody
    ) throws(RingwakeError) -> AudioSessionConfiguration {
        do throws(AudioSessionError) {
            return try body.configuration()
        } catch {
            throw error.error
        }
    }

    private func others(_ body: [UInt8]) throws(RingwakeError) -> OtherCalls? {
        try OtherCalls(inBody: try ControlBody.decode(CallAnswer.self, from: body, empty: CallAnswer()).others)
    }

    private func other(than key: CallKey, _ body: [UInt8]) throws(RingwakeError) -> CallID {
        let other = CallID(try ControlBody.decode(CallMerge.self, from: body, empty: nil).with)
        guard other != key.id else {
            throw RingwakeError(.invalidRequest, "'with' names another call of the app, not '\(other)' itself")
        }
        return other
    }

    private func digits(_ body: [UInt8]) throws(RingwakeError) -> String {
        let digits = try ControlBody.decode(CallDigits.self, from: body, empty: nil).digits
        guard PendingAction.areDigits(digits) else {
            throw RingwakeError(
                .invalidRequest, "'digits' is 1 to 32 of 0-9, *, #, A-D and ',' for a pause, not '\(digits)'")
        }
        return digits
    }

    private func action(of result: ActionResult) throws(RingwakeError) -> CallAction {
        guard let action = CallAction(rawValue: result.action) else {
            let actions = CallAction.allCases.map(\.rawValue).joined(separator: ", ")
            throw RingwakeError(.invalidRequest, "'action' is one of \(actions), not '\(result.action)'")
        }
        return action
    }
}

extension CallReport {
    /// The report's content. Its strings are shortened like those of a payload.
    ///
    /// A string that is too long is shortened, not refused, because a handler that ignores the answer would lose the
    /// call.
    package func update() throws(RingwakeError) -> CallUpdate {
        var update = CallUpdate(
            caller: try kept(caller, "caller"), callerName: try kept(callerName, "callerName"), hasVideo: video)
        (update.supportsHold, update.supportsDTMF) = (supportsHold, supportsDTMF)
        update.supportsMerge = supportsMerge
        return update
    }

    private func kept(_ text: String?, _ name: String) throws(RingwakeError) -> String? {
        try ShownText.kept(text, inMember: name)
    }
}

extension CallStart {
    /// Who is called. What the other side is reached by must be whole: it is refused, not shortened.
    package func update() throws(RingwakeError) -> CallUpdate {
        guard !to.isEmpty, to.utf8.count <= CallUpdate.maximumTextBytes else {
            throw RingwakeError(
                .invalidRequest, "'to' has 1 to \(CallUpdate.maximumTextBytes) bytes, not \(to.utf8.count)")
        }
        guard let other = try ShownText.kept(to, inMember: "to"), !to.unicodeScalars.contains(where: { $0.value < 32 })
        else {
            throw RingwakeError(.invalidRequest, "'to' is blank, or has control characters: name who is called")
        }
        return CallUpdate(caller: other, callerName: try ShownText.kept(name, inMember: "name"), hasVideo: video)
    }
}

extension ShownText {
    fileprivate static func kept(_ text: String?, inMember name: String) throws(RingwakeError) -> String? {
        guard let text else { return nil }
        do throws(ZeroByte) {
            return try kept(text)
        } catch {
            throw RingwakeError(.invalidRequest, "'\(name)' holds a zero byte (U+0000); leave it out")
        }
    }
}

extension OtherCalls {
    /// The member `others` of a body.
    package init?(inBody name: String?) throws(RingwakeError) {
        guard let name else { return nil }
        guard let others = OtherCalls(rawValue: name) else {
            throw RingwakeError(.invalidRequest, "'others' is 'hold' or 'end', not '\(name)'")
        }
        self = others
    }
}

package import RingwakeCore

/// One list of callers.
package struct CallerListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Its name.
    package var list: String
    /// `block` (its callers are kept out) or `identify` (it says who they are).
    package var kind: String
    /// How many entries it has.
    package var entries: Int
    /// Where it was imported from, a file or a URL; nil where entries were added one by one.
    package var source: String?
    /// What the source was at the import, to ask whether it is another now: its ETag, else its Last-Modified.
    package var etag: String?
    /// When it was changed last: ``UTCTime`` in text.
    package var updatedAt: String?

    package init(
        list: String, kind: String, entries: Int, source: String? = nil, etag: String? = nil,
        updatedAt: String? = nil
    ) {
        self.list = list
        self.kind = kind
        self.entries = entries
        self.source = source
        self.etag = etag
        self.updatedAt = updatedAt
    }
}

/// All lists of callers, by name.
package struct CallerListsMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var lists: [CallerListMessage]

    package init(lists: [CallerListMessage]) {
        self.lists = lists
    }
}

/// One entry of a list: which callers, and who they are.
package struct CallerEntryMessage: Codable, Equatable, Sendable {
    /// Which callers it means: a handle, `+49900*`, `*@spam.example` or `anonymous`.
    package var pattern: String
    /// Who they are, or why they are listed. Untrusted text.
    package var label: String?

    package init(pattern: String, label: String? = nil) {
        self.pattern = pattern
        self.label = label
    }
}

/// Entries of one list, by pattern.
package struct CallerEntriesMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var list: String
    package var entries: [CallerEntryMessage]
    /// What to ask for as `after` to get the ones that follow; nil when there are none.
    package var next: String?

    package init(list: String, entries: [CallerEntryMessage], next: String? = nil) {
        self.list = list
        self.entries = entries
        self.next = next
    }
}

/// What lists and rules say of one caller now.
package struct CallerCheckMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The caller in the form that is compared: a number in E.164, a handle in lower case, or `anonymous`.
    package var caller: String
    /// Whether a call of that caller would ring now, as far as it hangs on the caller.
    package var rings: Bool
    /// The list that has the caller.
    package var list: String?
    /// The list's entry that the caller fits.
    package var pattern: String?
    /// Who an identification list says that it is.
    package var identifiedAs: String?
    /// What would keep the call out.
    package var restriction: RestrictionMessage?
}

extension CallerCheckMessage {
    /// - Parameters:
    ///   - listed: what the lists have of the caller.
    ///   - restriction: what would keep its call out.
    package init(_ caller: CallerHandle, _ listed: ListVerdict?, _ restriction: Restriction?) {
        let match = listed?.blocked ?? listed?.identified
        self.init(
            caller: caller.description, rings: restriction == nil, list: match?.list,
            pattern: match?.pattern.description, identifiedAs: listed?.label,
            restriction: restriction.map { RestrictionMessage($0) })
    }
}

/// Body of `PUT /v1/lists/{list}`, which makes a list, or leaves one of that kind as it is; and of
/// `POST /v1/lists/{list}/import`, which begins to replace all entries of a list, and makes it if there is none.
package struct CallerListCreation: Codable, Equatable, Sendable {
    /// `block` or `identify`. Absent: the kind that the list has, or `block`.
    package var kind: String?

    package init(kind: String? = nil) {
        self.kind = kind
    }
}

/// Body of `POST /v1/lists/{list}/entries`; every member may be left out.
package struct CallerListChange: Codable, Equatable, Sendable {
    /// Entries to add; one whose pattern is there gets the new label.
    package var add: [CallerEntryMessage]?
    /// Patterns to remove; one that is not there is passed over.
    package var remove: [String]?

    package init(add: [CallerEntryMessage]? = nil, remove: [String]? = nil) {
        self.add = add
        self.remove = remove
    }
}

/// An import in progress.
///
/// `POST /v1/imports/{id}` adds entries to it: a body of lines `pattern TAB label LF` in UTF-8, the tab and the label
/// left out where there is none. Until it is finished the list stays as it was.
package struct ImportMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Names it in the requests that follow.
    package var id: String
    /// The list that it is for.
    package var list: String
    /// How many entries it has been given.
    package var entries: Int

    package init(id: String, list: String, entries: Int = 0) {
        self.id = id
        self.list = list
        self.entries = entries
    }
}

/// Body of `POST /v1/imports/{id}/finish`: the list's entries are replaced now; every member may be left out.
package struct ImportFinish: Codable, Equatable, Sendable {
    /// The source's ETag, else its Last-Modified.
    package var etag: String?
    /// Where the entries come from: a file or a URL.
    package var source: String?

    package init(etag: String? = nil, source: String? = nil) {
        self.etag = etag
        self.source = source
    }
}

package import RingwakeCore

/// One list of callers.
package struct CallerListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Its name.
    package var list: String
    /// `block` (rejects its callers) or `identify` (names its callers).
    package var kind: String
    /// Number of entries.
    package var entries: Int
    /// Source of the import, a file or a URL; nil if entries were added one by one.
    package var source: String?
    /// Version of the source at the import: its ETag, else its Last-Modified. It tells whether the source has changed.
    package var etag: String?
    /// Time of the last change: ``UTCTime`` as text.
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

/// One entry of a list: a pattern for callers, and who they are.
package struct CallerEntryMessage: Codable, Equatable, Sendable {
    /// The callers that match: a handle, `+49900*`, `*@spam.example` or `anonymous`.
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
    /// The value of `after` for the next entries; nil if there are no more.
    package var next: String?

    package init(list: String, entries: [CallerEntryMessage], next: String? = nil) {
        self.list = list
        self.entries = entries
        self.next = next
    }
}

/// What lists and rules say about one caller now.
package struct CallerCheckMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The caller in the form that is compared: a number in E.164, a handle in lower case, or `anonymous`.
    package var caller: String
    /// Whether a call of this caller would ring now, as far as it depends on the caller.
    package var rings: Bool
    /// The list that contains the caller.
    package var list: String?
    /// The list's entry that matches the caller.
    package var pattern: String?
    /// The caller's name in an identification list.
    package var identifiedAs: String?
    /// What would keep the call out.
    package var restriction: RestrictionMessage?
}

extension CallerCheckMessage {
    /// - Parameters:
    ///   - listed: what the lists contain about the caller.
    ///   - restriction: what would keep the caller's call out.
    package init(_ caller: CallerHandle, _ listed: ListVerdict?, _ restriction: Restriction?) {
        let match = listed?.blocked ?? listed?.identified
        self.init(
            caller: caller.description, rings: restriction == nil, list: match?.list,
            pattern: match?.pattern.description, identifiedAs: listed?.label,
            restriction: restriction.map { RestrictionMessage($0) })
    }
}

/// Body of `PUT /v1/lists/{list}`, which creates a list, or keeps an existing one of that kind; and of `POST
/// /v1/lists/{list}/import`, which starts to replace all entries of a list, and creates it if necessary.
package struct CallerListCreation: Codable, Equatable, Sendable {
    /// `block` or `identify`. Default: the kind of the existing list, or `block`.
    package var kind: String?

    package init(kind: String? = nil) {
        self.kind = kind
    }
}

/// Body of `POST /v1/lists/{list}/entries`; every member is optional.
package struct CallerListChange: Codable, Equatable, Sendable {
    /// Entries to add. An existing pattern gets the new label.
    package var add: [CallerEntryMessage]?
    /// Patterns to remove. Unknown ones are ignored.
    package var remove: [String]?

    package init(add: [CallerEntryMessage]? = nil, remove: [String]? = nil) {
        self.add = add
        self.remove = remove
    }
}

/// An import in progress.
///
/// `POST /v1/imports/{id}` adds entries to it: lines `pattern TAB label LF` in UTF-8, without tab and label if there is
/// no label. The list doesn't change until the import is finished.
package struct ImportMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// ID for the following requests.
    package var id: String
    /// The list to import into.
    package var list: String
    /// Number of entries so far.
    package var entries: Int

    package init(id: String, list: String, entries: Int = 0) {
        self.id = id
        self.list = list
        self.entries = entries
    }
}

/// Body of `POST /v1/imports/{id}/finish`, which replaces the list's entries; every member is optional.
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

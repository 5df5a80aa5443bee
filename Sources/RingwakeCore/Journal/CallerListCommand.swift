/// What is asked of the lists of callers. Commands run in the order of asking.
package enum CallerListCommand: Sendable {
    /// All lists, by name.
    case all
    /// Entries of a list by the text of their patterns, behind the pattern `after`; up to
    /// ``JournalQueries/maximumAnswers``.
    case entries(of: String, after: String?, limit: Int)
    /// Makes a list without entries, or finds the existing one. Kind nil: the kind that it has, or `block`. Fails with
    /// `conflict` if it is of another kind, `invalidRequest` for a name that is empty or longer than 64 bytes, and
    /// `limitReached`.
    case create(String, CallerListKind?)
    /// Removes a list with its entries. The result is what it was.
    case remove(String)
    /// Adds entries to a list and removes others, all or nothing. An added entry replaces one with the same pattern; a
    /// removed one that does not exist is ignored; one that is also added exists afterwards.
    case change(String, add: [CallerEntry], remove: [CallerPattern])
    /// Begins to collect entries that will replace a list's, which may not exist yet. The list stays as it is until the
    /// import is finished. Another import into the same list is aborted, and so is one that was idle for ten minutes;
    /// a restart aborts all. Errors as of `create`.
    case beginImport(into: String, CallerListKind?)
    /// Adds entries to an import; of those with the same pattern the last one counts. Entries that are sorted by the
    /// text of their patterns cost the disk far less. If the disk fails, the import is aborted.
    case append([CallerEntry], to: CallerListImport.ID)
    /// Replaces the entries of the import's list by those of the import, all at once.
    case finishImport(CallerListImport.ID, etag: String?, source: String?)
    /// Gives an import up; its list stays as it was.
    case abortImport(CallerListImport.ID)

    /// Number of entries that it brings.
    package var entryCount: Int {
        switch self {
        case .change(_, let added, let removed): added.count + removed.count
        case .append(let entries, _): entries.count
        default: 0
        }
    }

    /// Whether lookups give another result afterwards.
    package var changesLookups: Bool {
        switch self {
        case .remove, .change, .finishImport: true
        case .all, .entries, .create, .beginImport, .append, .abortImport: false
        }
    }
}

/// The result of a ``CallerListCommand``.
package enum CallerListResult: Hashable, Sendable {
    case lists([CallerListRecord])
    case list(CallerListRecord)
    case entries([CallerEntry])
    case listImport(CallerListImport)
}

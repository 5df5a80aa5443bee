/// A command to the lists of callers. Commands run in order.
package enum CallerListCommand: Sendable {
    /// All lists, by name.
    case all
    /// Entries of a list after the pattern `after`, sorted by the text of their patterns; up to
    /// ``JournalQueries/maximumAnswers``.
    case entries(of: String, after: String?, limit: Int)
    /// Makes an empty list, or finds the existing one. Kind nil: the kind of the existing list, or `block`. Fails with
    /// `conflict` if the list has another kind, `invalidRequest` for a name that is empty or longer than 64 bytes, and
    /// `limitReached`.
    case create(String, CallerListKind?)
    /// Removes a list with its entries. The result is the removed list.
    case remove(String)
    /// Adds entries to a list and removes others, all or nothing. An added entry replaces one with the same pattern.
    /// Patterns to remove that don't exist are ignored. An entry that is both removed and added exists afterwards.
    case change(String, add: [CallerEntry], remove: [CallerPattern])
    /// Begins an import: collects entries that will replace those of a list, which need not exist yet. The list stays
    /// unchanged until the import is finished. This aborts another import into the same list. An import is aborted
    /// after ten idle minutes, or by a restart. Errors as for `create`.
    case beginImport(into: String, CallerListKind?)
    /// Adds entries to an import. Of several entries with the same pattern, the last one counts. Entries that are
    /// sorted by the text of their patterns need far less disk I/O. If the disk fails, the import is aborted.
    case append([CallerEntry], to: CallerListImport.ID)
    /// Replaces the entries of the list by those of the import, all at once.
    case finishImport(CallerListImport.ID, etag: String?, source: String?)
    /// Aborts an import; its list stays unchanged.
    case abortImport(CallerListImport.ID)

    /// The number of entries in the command.
    package var entryCount: Int {
        switch self {
        case .change(_, let added, let removed): added.count + removed.count
        case .append(let entries, _): entries.count
        default: 0
        }
    }

    /// Whether the command may change the results of lookups.
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

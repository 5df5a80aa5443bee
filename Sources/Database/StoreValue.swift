internal import CRingwakeSQLite

/// One value of a row, of any of the types that stores use.
package enum StoreValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])
}

extension StoreValue: SQLiteValue {
    package func bind(to statement: Statement) {
        switch self {
        case .null: statement.bind(nil as Int64?)
        case .integer(let number): statement.bind(number)
        case .text(let text): statement.bind(text)
        case .blob(let bytes): statement.bind(bytes)
        }
    }
}

/// A row by the names of its columns.
package typealias StoreRow = [String: StoreValue]

/// Collects the field lines of one message (RFC 9112 section 5), strictly.
struct FieldSection {
    private(set) var fields: [HTTP1Field] = []
    private var size = 0
    private let limits: HTTP1Limits

    init(limits: HTTP1Limits) {
        self.limits = limits
    }

    /// Parses all complete lines.
    ///
    /// - Returns: whether the section's final empty line was found.
    mutating func consume(_ buffer: inout LineBuffer) throws(HTTP1Error) -> Bool {
        while let line = try nextLine(&buffer) {
            if line.isEmpty { return true }
            size += line.count + 2
            guard fields.count < limits.maximumFields else {
                throw HTTP1Error(
                    status: 431, message: "there are more than \(limits.maximumFields) header fields; send fewer")
            }
            fields.append(try FieldSection.field(buffer, line))
        }
        return false
    }

    private func nextLine(_ buffer: inout LineBuffer) throws(HTTP1Error) -> Range<Int>? {
        do {
            return try buffer.takeLine(maximumBytes: max(0, limits.maximumFieldBytes - size))
        } catch {
            switch error {
            case .tooLong:
                throw HTTP1Error(
                    status: 431,
                    message: "the header fields are longer than \(limits.maximumFieldBytes) bytes; send less")
            case .bareLineEnd:
                throw HTTP1Error(status: 400, message: "a header line must end with CR LF, and hold neither elsewhere")
            }
        }
    }

    private static func field(_ buffer: LineBuffer, _ line: Range<Int>) throws(HTTP1Error) -> HTTP1Field {
        let bytes = buffer.bytes[line]
        if let first = bytes.first, ByteClass.isBlank(first) {
            throw HTTP1Error(
                status: 400, message: "a header line begins with white space; folded lines are obsolete, join them")
        }
        guard let colon = bytes.firstIndex(of: ByteClass.colon), colon > bytes.startIndex else {
            throw HTTP1Error(status: 400, message: "a header line has no name before a colon")
        }
        let name = bytes[..<colon]
        guard name.allSatisfy(ByteClass.isToken) else {
            throw HTTP1Error(
                status: 400, message: "a header name holds white space or another byte that is not of a token")
        }
        var value = bytes[(colon + 1)...].drop(while: ByteClass.isBlank)
        while let last = value.last, ByteClass.isBlank(last) {
            value.removeLast()
        }
        guard value.allSatisfy(ByteClass.isFieldContent) else {
            throw HTTP1Error(status: 400, message: "a header value holds a control character")
        }
        return HTTP1Field(
            name: String(decoding: name.map(ByteClass.lowercased), as: UTF8.self),
            value: String(decoding: value, as: UTF8.self))
    }

    /// The declared length of the body; nil if none is declared.
    ///
    /// A repeated field and a list are refused even if the values agree: such messages are used to smuggle requests
    /// past another parser (RFC 9112 section 6.3).
    func contentLength(status: Int) throws(HTTP1Error) -> Int? {
        var found: Int?
        for field in fields where field.name == "content-length" {
            guard found == nil else {
                throw HTTP1Error(status: status, message: "Content-Length is given more than once; send it once")
            }
            guard let length = ByteClass.decimal(field.value.utf8) else {
                throw HTTP1Error(status: status, message: "Content-Length is not a number of bytes")
            }
            found = length
        }
        return found
    }
}

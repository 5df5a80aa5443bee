/// Reads vCards: the callers of each card, with the card's name (RFC 6350; RFC 2426; vCard 2.1).
struct CardReader: LineReader {
    private var property: CardProperty.Text?
    /// The current card.
    private var card: Card?
    private var lastLine = 0

    private struct Card {
        var name: String?
        var fallbackName: String?
        var values: [(text: String, line: Int)] = []
    }

    // The maximum number of callers per card; further ones are reported.
    private static let maximumValues = 64

    mutating func take(_ line: LineCutter.Line, _ problems: inout CallerListProblems) -> [RawEntry] {
        lastLine = line.number
        if property?.takes(line) == true { return [] }
        let entries = finishProperty(&problems)
        property = CardProperty.Text(line)
        return entries
    }

    mutating func finish(_ problems: inout CallerListProblems) -> [RawEntry] {
        let entries = finishProperty(&problems)
        if card != nil { problems.add(line: lastLine, "the last card has no END:VCARD; it was left out") }
        return entries
    }

    private mutating func finishProperty(_ problems: inout CallerListProblems) -> [RawEntry] {
        guard let text = property.take(), let property = CardProperty(text) else { return [] }
        guard !text.isCut else {
            if CardProperty.kept.contains(property.name) {
                problems.add(line: text.line, "\(property.name) is longer than \(LineCutter.maximumBytes) bytes")
            }
            return []
        }
        switch property.name {
        case "BEGIN":
            if card != nil {
                problems.add(line: text.line, "the card before this one has no END:VCARD; it was left out")
            }
            card = Card()
        case "END":
            return finishCard()
        case "FN": card?.name = property.text
        case "N", "ORG", "NICKNAME": if card?.fallbackName == nil { card?.fallbackName = property.joinedText }
        case "TEL", "IMPP", "X-SIP": add(property, line: text.line, &problems)
        default: break
        }
        return []
    }

    private mutating func add(_ property: CardProperty, line: Int, _ problems: inout CallerListProblems) {
        let value = property.text
        guard let count = card?.values.count, value.contains(where: { !$0.isWhitespace }) else { return }
        guard count < CardReader.maximumValues else {
            problems.add(line: line, "the card has more than \(CardReader.maximumValues) numbers")
            return
        }
        // Of messenger addresses, keep only those that a call app can report as callers.
        if property.name == "IMPP", !["sip:", "sips:", "tel:"].contains(where: value.lowercased().hasPrefix) { return }
        card?.values.append((value, line))
    }

    private mutating func finishCard() -> [RawEntry] {
        guard let card = card.take() else { return [] }
        let label = [card.name, card.fallbackName].compactMap { $0 }.first { $0.contains { !$0.isWhitespace } }
        return card.values.map { RawEntry(line: $0.line, pattern: $0.text, label: label, isTelephone: true) }
    }
}

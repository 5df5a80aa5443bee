import RingwakeCore

/// Asks a user before a command does what can't be undone, or what changes much.
enum Confirmation {
    /// Returns if the user agrees.
    ///
    /// - Parameters:
    ///   - question: what will happen, without the question mark.
    ///   - isGiven: whether the command line has said yes already.
    /// - Throws: `invalidRequest` if nobody is at a terminal who could be asked; `failed` if the user says no.
    static func require(
        _ question: String, given isGiven: Bool, in context: CommandContext
    ) throws(RingwakeError) {
        guard !isGiven else { return }
        guard context.canAsk else {
            throw RingwakeError(.invalidRequest, "nobody is there to be asked; give --yes to go on")
        }
        context.errors.write("\(question)? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard ["y", "yes"].contains(answer) else { throw RingwakeError(.failed, "nothing was changed") }
    }
}

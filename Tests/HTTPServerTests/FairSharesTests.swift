import HTTPServer
import Testing

@Suite struct FairSharesTests {
    @Test("One account can't take the guaranteed part of another")
    func guarantee() {
        var shares = FairShares(capacity: 100, accounts: 2)
        let taken = [
            shares.take(75, for: "a"), shares.take(1, for: "a"), shares.take(25, for: "b"), shares.take(1, for: "b"),
        ]
        #expect(taken == [true, false, true, false])
        #expect(shares.used == 100)
        shares.give(10, of: "a")
        let later = [shares.take(10, for: "b"), shares.take(1, for: "a")]
        #expect(later == [true, false])
    }

    @Test("A single account has everything")
    func single() {
        var shares = FairShares(capacity: 10)
        let taken = [shares.take(10, for: "a"), shares.take(1, for: "a")]
        #expect(taken == [true, false])
        shares.give(10, of: "a")
        #expect(shares.used == 0)
    }

    @Test("More accounts get smaller parts, and what is in use stays so")
    func divide() {
        var shares = FairShares(capacity: 100)
        let before = shares.take(90, for: "a")
        shares.divide(among: 5)
        let after = [shares.take(1, for: "a"), shares.take(10, for: "b"), shares.take(1, for: "c")]
        #expect(before && after == [false, true, false])
        shares.give(90, of: "a")
        let last = shares.take(10, for: "c")
        #expect(last && shares.used == 20)
    }
}

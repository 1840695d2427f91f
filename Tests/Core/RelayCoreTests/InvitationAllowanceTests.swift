import RelayCore
import Testing

@Suite("How many invitations of one address are taken up")
struct InvitationAllowanceTests {
    typealias Source = InvitationAllowance.Source

    static let start: Int64 = 1_796_000_000
    static let hour: Int64 = 3600
    static let day = 24 * hour
    static let one = Source(address: [127, 0, 0, 2])

    private func fill(_ allowance: inout InvitationAllowance, perDay: Int64, now: Int64) -> Int64 {
        var taken: Int64 = 0
        while taken < 2000, allowance.wait(of: Self.one, perDay: perDay, now: now) == 0 {
            allowance.spend(Self.one, perDay: perDay, now: now)
            taken += 1
        }
        return taken
    }

    @Test("as many at once as the limit says, not one more", arguments: [1, 2, 24, 500, 999])
    func burst(perDay: Int64) {
        var allowance = InvitationAllowance()
        #expect(fill(&allowance, perDay: perDay, now: Self.start) == perDay)
    }

    @Test("who comes back after the time that was told is served, and a moment sooner is not")
    func servedLater() {
        var allowance = InvitationAllowance()
        #expect(fill(&allowance, perDay: 24, now: Self.start) == 24)
        let wait = allowance.wait(of: Self.one, perDay: 24, now: Self.start)
        #expect(wait == Self.hour * 1000)
        #expect(allowance.wait(of: Self.one, perDay: 24, now: Self.start + Self.hour - 1) == 1000)
        #expect(allowance.wait(of: Self.one, perDay: 24, now: Self.start + Self.hour) == 0)
        #expect(fill(&allowance, perDay: 24, now: Self.start + Self.hour) == 1)
        #expect(fill(&allowance, perDay: 24, now: Self.start + 4 * Self.hour) == 3)
        #expect(fill(&allowance, perDay: 24, now: Self.start + 9 * Self.day) == 24)
    }

    @Test(
        "a share that is no whole second is not told too short: who comes back to the moment is served",
        arguments: [7, 500, 999, 3_601])
    func fractions(perDay: Int64) {
        var allowance = InvitationAllowance()
        for _ in 0..<perDay { allowance.spend(Self.one, perDay: perDay, now: Self.start) }
        let wait = allowance.wait(of: Self.one, perDay: perDay, now: Self.start)
        #expect(wait > 0)
        // The relay's clock shows whole seconds, and stood at the beginning of one.
        let back = Self.start + wait / 1000
        #expect(allowance.wait(of: Self.one, perDay: perDay, now: back) == 0)
        #expect(allowance.wait(of: Self.one, perDay: perDay, now: back - 1) == 1000)
    }

    @Test("a flood for days gets the limit at once and the limit again each day")
    func longFlood() {
        var allowance = InvitationAllowance()
        var taken: Int64 = 0
        for minute in 0..<(3 * Self.day / 60) {
            taken += fill(&allowance, perDay: 500, now: Self.start + minute * 60)
        }
        #expect((1999...2000).contains(taken), "\(taken)")
    }

    @Test("one address costs another nothing")
    func apart() {
        var allowance = InvitationAllowance()
        #expect(fill(&allowance, perDay: 10, now: Self.start) == 10)
        #expect(allowance.wait(of: Source(address: [127, 0, 0, 3]), perDay: 10, now: Self.start) == 0)
    }

    @Test("0 is no limit, and keeps nothing")
    func off() {
        var allowance = InvitationAllowance()
        #expect(fill(&allowance, perDay: 0, now: Self.start) == 2000)
        #expect(allowance.count == 0)
    }

    @Test("a limit that is raised counts at once, for those who wait, too")
    func reloaded() {
        var allowance = InvitationAllowance()
        #expect(fill(&allowance, perDay: 2, now: Self.start) == 2)
        #expect(allowance.wait(of: Self.one, perDay: 2, now: Self.start) == Self.day / 2 * 1000)
        #expect(allowance.wait(of: Self.one, perDay: 86_400, now: Self.start) == 1000)
        #expect(allowance.wait(of: Self.one, perDay: 0, now: Self.start) == 0)
    }

    @Test("a clock that is put back or forward, by whatever, makes nobody wait longer than a day's share")
    func clock() {
        for jump in [-Self.start, -400 * Self.day, -60, 60, 400 * Self.day, Int64.max - Self.start] {
            var allowance = InvitationAllowance()
            #expect(fill(&allowance, perDay: 24, now: Self.start) == 24)
            #expect(allowance.wait(of: Self.one, perDay: 24, now: Self.start + jump) <= Self.hour * 1000)
        }
        var allowance = InvitationAllowance()
        #expect(allowance.wait(of: Self.one, perDay: 1, now: .min) == 0)
        allowance.spend(Self.one, perDay: 1, now: .max)
        #expect(allowance.wait(of: Self.one, perDay: 1, now: .min) == Self.day * 1000)
    }

    @Test("of a source whose bucket is full again nothing is kept")
    func forgotten() {
        var allowance = InvitationAllowance()
        allowance.spend(Self.one, perDay: 24, now: Self.start)
        allowance.forgetFull(now: Self.start + Self.hour - 1)
        #expect(allowance.count == 1)
        allowance.forgetFull(now: Self.start + Self.hour)
        #expect(allowance.count == 0)
    }

    @Test("no more sources are kept than the limit; the one that took least goes, not the one that floods")
    func bounded() {
        func source(_ number: Int) -> Source {
            Source(address: [UInt8(number >> 16), UInt8(number >> 8 & 255), UInt8(number & 255)])
        }
        var allowance = InvitationAllowance()
        #expect(fill(&allowance, perDay: 24, now: Self.start) == 24)
        for number in 0..<(InvitationAllowance.sourcesMax + 1) {
            allowance.spend(source(number), perDay: 24, now: Self.start)
            #expect(allowance.count <= InvitationAllowance.sourcesMax)
        }
        #expect(allowance.count == InvitationAllowance.sourcesMax)
        #expect(allowance.wait(of: Self.one, perDay: 24, now: Self.start) > 0)
        // Those whose time is over go first, all at once.
        allowance.spend(source(1 << 20), perDay: 24, now: Self.start + 2 * Self.hour)
        #expect(allowance.count == 2)
    }
}

import ChannelWire
import ClientCore
import Testing

@Suite("Whether a relay's answer fits the question")
struct RelayAnswerTests {
    @Test("what an honest relay answers fits")
    func honest() {
        #expect(
            RelayAnswer.misfit(ack: [.stored(1), .repeated(1), .refused(.badSignature)], elements: 3) == nil)
        for (first, head, after) in [(1, 0, 0), (1, 5, 0), (1, 5, 5), (4, 3, 3), (4, 9, 1)]
            as [(Int64, Int64, Int64)]
        {
            #expect(RelayAnswer.misfit(attached: attached(first, head, after)) == nil)
        }
        #expect(RelayAnswer.misfit(stored: 3, put: 3) == nil)
        #expect(
            RelayAnswer.misfit(members: page(more: true, [[1], [1, 0], [2]]), after: nil, limit: 3) == nil)
        #expect(
            RelayAnswer.misfit(members: page(more: false, []), after: MemberID(bytes: [9]), limit: 3) == nil)
    }

    @Test("one result too many or too few is no ACK")
    func acknowledgement() {
        #expect(RelayAnswer.misfit(ack: [], elements: 1) != nil)
        #expect(RelayAnswer.misfit(ack: [.stored(1), .stored(2)], elements: 1) != nil)
        #expect(RelayAnswer.misfit(ack: [.stored(1)], elements: 2) != nil)
        #expect(RelayAnswer.misfit(ack: [.stored(0)], elements: 1) != nil)
    }

    @Test("members come in rising order after the one asked for, and never more than asked for")
    func members() {
        #expect(RelayAnswer.misfit(members: page(more: false, [[1], [2]]), after: nil, limit: 1) != nil)
        #expect(RelayAnswer.misfit(members: page(more: false, [[1], [1]]), after: nil, limit: 9) != nil)
        #expect(RelayAnswer.misfit(members: page(more: false, [[2], [1]]), after: nil, limit: 9) != nil)
        #expect(RelayAnswer.misfit(members: page(more: true, []), after: nil, limit: 9) != nil)
        let after = MemberID(bytes: [2])
        #expect(RelayAnswer.misfit(members: page(more: true, [[2]]), after: after, limit: 9) != nil)
        #expect(RelayAnswer.misfit(members: page(more: true, [[1]]), after: after, limit: 9) != nil)
        let many = (1...51).map { [UInt8($0)] }
        #expect(RelayAnswer.misfit(members: page(more: true, many), after: nil, limit: 1000) != nil)
    }

    @Test("history ends at its limit, rises, stays before what was asked, and its end says what came")
    func history() {
        var answer = RelayAnswer.History(mode: .beforeSequence, value: 10, limit: 2)
        #expect(answer.misfit(first: 0, more: false) == nil)
        #expect(answer.misfit(first: 0, more: true) != nil)
        #expect(answer.take(sequence: 10, batch: []) != nil)
        #expect(answer.take(sequence: 0, batch: []) != nil)
        #expect(answer.take(sequence: 8, batch: []) == nil)
        #expect(answer.take(sequence: 8, batch: []) != nil)
        #expect(answer.take(sequence: 9, batch: []) == nil)
        #expect(answer.take(sequence: 9, batch: []) != nil)
        #expect(answer.misfit(first: 8, more: true) == nil)
        #expect(answer.misfit(first: 9, more: true) != nil)
        var full = RelayAnswer.History(mode: .fromTime, value: 0, limit: 9999)
        for sequence in 1...500 { #expect(full.take(sequence: Int64(sequence), batch: []) == nil) }
        #expect(full.take(sequence: 501, batch: []) != nil)
    }

    private func attached(_ first: Int64, _ head: Int64, _ after: Int64) -> Frame.Attached {
        Frame.Attached(
            epoch: [UInt8](repeating: 1, count: 8), first: first, head: head, resumeAfter: after,
            role: "owner",
            recordVersion: 1)
    }
    private func page(more: Bool, _ ids: [[UInt8]]) -> Frame.MembersPage {
        let rows = ids.compactMap { MemberID(bytes: $0) }.map {
            Frame.MembersPage.Row(member: $0, role: "observer", status: "connected", name: "", joinedAt: 0)
        }
        return Frame.MembersPage(request: 1, more: more, total: 0, rows: rows)
    }
}

import TestKit

/// What really happened, as only somebody who looks into every head can know it.
struct Truth {
    /// The channel of this run, once it is there.
    var channel: [UInt8]?
    /// Its owner's member id, once something was written.
    var ownerMember: [UInt8] = []
    /// Everything that its owner wrote, and the bytes that were signed.
    var written: [ReferenceRelay.Key: Written] = [:]
    /// The row of the owner's database up to which that was read.
    var ownRow: Int64 = 0
    /// How many texts were written, so that each is another.
    var texts = 0
    /// Numbers of operators' requests.
    var requests: Int64 = 0

    struct Written {
        let tag: String
        let element: [UInt8]
    }
}

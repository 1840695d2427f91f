internal import LibeventLoop

/// What a link waits for until its descriptor can be written: to be connected, or that the kernel takes the
/// rest of a record. At most moments a link waits for neither and has no such object.
final class LinkWriting {
    var watch: DescriptorWatch
    /// What the kernel did not take of the last records; empty while the link connects.
    let unsent: [UInt8]
    /// How much of it was taken meanwhile.
    var offset = 0
    /// What the kernel held for the peer when this was last looked at. Units: bytes.
    var kernelBytes: Int32 = .max
    /// Since when a record has not gone whole.
    let unsentTick: UInt32
    /// When the peer was last seen to take something of what it was sent, and when that was looked at.
    var progressTick: UInt32
    var progressLookTick: UInt32

    init(_ watch: consuming DescriptorWatch, unsent: [UInt8] = [], tick: UInt32) {
        self.watch = watch
        self.unsent = unsent
        unsentTick = tick
        progressTick = tick
        progressLookTick = tick
    }
}

@available(*, unavailable)
extension LinkWriting: Sendable {}

internal import CLibevent

/// What is told when its descriptor is ready.
///
/// Made for objects that exist by the thousand: they are the argument of their events themselves, so that a
/// watch needs no object and no closure.
package protocol DescriptorOwner: AnyObject {
    /// The descriptor can be read, or written.
    func descriptorReady(_ interest: EventLoop.Interest)
}

/// One interest in one descriptor, kept by the object that is told. Letting go of it ends the watching.
@safe package struct DescriptorWatch: ~Copyable {
    private let base: EventBase
    private let event: OpaquePointer
    package private(set) var isAdded = false

    /// `owner` is not kept: it must own the watch, so that it cannot go before it.
    init(
        _ base: EventBase, _ descriptor: Int32, _ interest: EventLoop.Interest, _ owner: any DescriptorOwner
    ) {
        self.base = base
        let argument = unsafe Unmanaged<AnyObject>.passUnretained(owner).toOpaque()
        let made = unsafe base.makeEvent(
            descriptor, (interest == .read ? EV_READ : EV_WRITE) | EV_PERSIST,
            { _, what, argument in
                guard let argument = unsafe argument else { return }
                // Taken strongly: the handler may let go of the last other reference.
                let owner = unsafe Unmanaged<AnyObject>.fromOpaque(argument).takeUnretainedValue()
                // A lookup that the runtime remembers; a delivery takes no such way.
                guard let owner = owner as? any DescriptorOwner else { return }
                owner.descriptorReady(Int32(what) & EV_READ != 0 ? .read : .write)
            }, argument)
        guard let event = unsafe made else {
            preconditionFailure("libevent makes an event of a valid descriptor")
        }
        unsafe self.event = event
    }

    /// Watches from now on.
    /// Returns: false when the kernel refuses: no memory, or too many watches of this user.
    package mutating func add() -> Bool {
        if !isAdded { isAdded = unsafe event_add(event, nil) == 0 }
        return isAdded
    }

    package mutating func remove() {
        guard isAdded else { return }
        isAdded = false
        unsafe _ = event_del(event)
    }

    deinit { unsafe event_free(event) }
}

@available(*, unavailable)
extension DescriptorWatch: Sendable {}

/// Where a relay keeps its state and listens for its operator.
package enum ControlPaths {
    /// The name of the socket in the state directory.
    package static let socketName = "control.sock"

    /// Where the service of a machine keeps its state.
    package static let systemState = "/var/lib/antenna"

    /// `$STATE_DIRECTORY` as a service manager sets it, else `$XDG_STATE_HOME/antenna/relay`, else
    /// `~/.local/state/antenna/relay`; nil without any of them.
    package static func defaultState(environment: (String) -> String?) -> String? {
        if let given = environment("STATE_DIRECTORY"), given.hasPrefix("/"), !given.contains(":") {
            return given
        }
        // The specification of base directories: a relative value is ignored.
        if let base = environment("XDG_STATE_HOME"), base.hasPrefix("/") { return "\(base)/antenna/relay" }
        guard let home = environment("HOME"), home.hasPrefix("/") else { return nil }
        return "\(home)/.local/state/antenna/relay"
    }

    package static func socket(inState state: String) -> String { "\(state)/\(socketName)" }
}

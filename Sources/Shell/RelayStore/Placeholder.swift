enum RelayStorePlaceholder {}

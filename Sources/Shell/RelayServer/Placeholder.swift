enum RelayServerPlaceholder {}

enum OperatorCommandsPlaceholder {}

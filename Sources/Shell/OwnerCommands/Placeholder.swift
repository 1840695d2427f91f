enum OwnerCommandsPlaceholder {}

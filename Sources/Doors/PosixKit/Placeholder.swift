enum PosixKitPlaceholder {}

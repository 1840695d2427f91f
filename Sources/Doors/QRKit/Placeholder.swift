enum QRKitPlaceholder {}

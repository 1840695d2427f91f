enum ZstdKitPlaceholder {}

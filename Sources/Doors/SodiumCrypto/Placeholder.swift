enum SodiumCryptoPlaceholder {}

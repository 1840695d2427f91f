enum NoiseProtocolPlaceholder {}

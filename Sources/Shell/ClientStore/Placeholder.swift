enum ClientStorePlaceholder {}

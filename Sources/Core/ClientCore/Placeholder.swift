enum ClientCorePlaceholder {}

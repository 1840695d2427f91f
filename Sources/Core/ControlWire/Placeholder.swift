enum ControlWirePlaceholder {}

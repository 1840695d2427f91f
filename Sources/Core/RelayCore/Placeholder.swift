enum RelayCorePlaceholder {}

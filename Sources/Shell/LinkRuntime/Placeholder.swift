enum LinkRuntimePlaceholder {}

enum IniKitPlaceholder {}

enum ChannelClientPlaceholder {}

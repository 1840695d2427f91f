enum ChannelWirePlaceholder {}

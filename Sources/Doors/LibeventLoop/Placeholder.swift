enum LibeventLoopPlaceholder {}

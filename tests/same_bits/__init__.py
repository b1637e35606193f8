"""The same scenarios in two source trees: predictions, state, ledgers and texts, bit by bit."""

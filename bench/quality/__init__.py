"""Progressive loss of default settings on real streams, ours beside three other tools."""

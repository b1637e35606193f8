"""Zhang's experiments on Reuters-21578: `python -m bench.reuters`."""

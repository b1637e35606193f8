"""Files: model files, written atomically."""

"""Passes of dual ascent, on streams and in batch."""

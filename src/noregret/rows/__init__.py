"""Rows: examples, labels and weights, with their checks."""

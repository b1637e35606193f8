"""Passes of mirror descent with a matrix of weights, a column a score."""

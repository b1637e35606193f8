"""Passes of mirror descent with one vector of weights."""

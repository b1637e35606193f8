"""Mutations of the sources, chosen for their meaning: each must make a test fail."""

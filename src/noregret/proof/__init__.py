"""Proofs: the sums of a run, what they prove, and in which words."""

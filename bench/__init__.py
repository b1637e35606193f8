"""Benchmarks: `python -m bench` measures ratios against scikit-learn, numba and C loops."""

"""Scores of classes: labels as they appear, learners that grow with them, probabilities.

The estimators, the command line and the evaluation share this one implementation.
"""

"""A run as an object: a model with its preprocessing, sessions, audits, names and progress."""

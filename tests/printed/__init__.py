"""Printed certificates before a referee that reads the text alone."""

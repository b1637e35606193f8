"""The tests, in rooms that mirror the package."""

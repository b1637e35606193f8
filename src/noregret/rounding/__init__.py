"""Rounding: outward rounding of printed numbers, and the slack that covers rounding errors."""

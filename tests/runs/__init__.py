"""Tests of runs: sessions, records, audits and models."""

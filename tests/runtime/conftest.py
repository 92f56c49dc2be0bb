"""Fixtures of the tests that run programs."""

from warm import warm

__all__ = ["warm"]

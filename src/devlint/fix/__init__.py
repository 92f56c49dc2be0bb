"""Edits: applied, tried and written down as comments."""

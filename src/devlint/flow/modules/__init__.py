"""Modules: what they hold, what a move takes along, what wraps and optimizes them."""

"""Expressions, statements, and the functions and classes that are made of them."""

"""Calls: of functions and classes of the project, of modules, methods and names of libraries."""

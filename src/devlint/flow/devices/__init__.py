"""Devices as a program handles them: how they are named, handed on, counted and forgotten."""

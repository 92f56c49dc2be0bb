"""devlint finds device mistakes in PyTorch code by reading it."""

__version__ = "0.1.0"

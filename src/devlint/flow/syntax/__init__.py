"""What the statements of a function or a file tell before any of them runs."""

"""The running interpreter: files and what they define, the world of one run, frames."""

"""Revisions of a repository: read by git, and laid beside what is found now."""

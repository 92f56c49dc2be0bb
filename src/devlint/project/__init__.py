"""The files around a linted one, and what is settled before any of them is read."""

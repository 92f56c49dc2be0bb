"""Many files: found, cached, linted in parallel, and laid beside a baseline."""

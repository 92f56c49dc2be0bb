"""Many files: found, cached, linted and fixed in parallel, and laid beside a baseline."""

"""Pages for a browser: one file each, without a network, with all that others wrote escaped."""

"""Train a small network to read seven-segment digits, on any device."""

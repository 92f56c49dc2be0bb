"""The interpreter of devices: IR in, facts out. It knows no syntax, no rule and no file."""

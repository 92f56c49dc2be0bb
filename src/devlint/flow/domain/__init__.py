"""What the interpreter computes with: devices, values, states, and how they join."""

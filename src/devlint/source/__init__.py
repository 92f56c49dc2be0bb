"""Source files: reading, lowering, positions and suppression comments."""

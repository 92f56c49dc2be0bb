"""What the rows of the tables do to values: one function for each effect."""

"""What operators, subscripts, attributes and containers do, and where tensors meet."""

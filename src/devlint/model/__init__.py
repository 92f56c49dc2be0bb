"""What every other room may read: findings and where they are, and the intermediate form."""

"""What every other package may read: findings and where they are, and the intermediate form."""

"""What keeps whoever lints safe from what is linted: how files are opened and replaced, what is
locked meanwhile, what isn't imported, and how the text of others is printed."""

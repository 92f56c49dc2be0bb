"""What an accelerator does with some thousand lines of code, and how it is compared."""

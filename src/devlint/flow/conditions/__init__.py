"""What conditions, decorators and calls that come back prove."""

"""Fixes are applied to the bytes of files, linted again, and kept where they hold."""

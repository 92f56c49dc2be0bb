"""The files around a linted one."""

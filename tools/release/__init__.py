"""The steps of `make release-candidate`."""

"""Settings: what there is to set, where it is read from, and which files and rules it is about.

Beside them `rulebook` reads the pages of the rules: these need no settings.
"""

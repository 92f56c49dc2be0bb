"""`devlint server`: the linter for editors, by the Language Server Protocol.

The only package that imports pygls, which the extra `lsp` brings. All linting and looking up runs
in one thread beside the loop that speaks with the editor.
"""

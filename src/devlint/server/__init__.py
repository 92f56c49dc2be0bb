"""`devlint server`: the linter for editors, by the Language Server Protocol.

The only room that imports pygls, which the extra `lsp` brings. All that is linted or looked up runs
in one thread beside the loop that speaks with the editor.
"""

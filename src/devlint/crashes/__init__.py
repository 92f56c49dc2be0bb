"""Errors about devices in text: a pasted traceback, or the log of a run, is read and explained.

`messages` is the table of PyTorch's own texts, `lines` makes lines of what terminals and loggers
have added to, `tracebacks` finds the errors in them, `scene` the line of the program, and `told`
says what is known of one, with the repairs of `remedies`. Nothing here needs torch, and no file
that a text names is opened: whoever wrote it may be anybody.
"""

"""How an error about devices is understood: frames, source text, modules, and what they tell.

`stack` and `source` read frames and the text behind them, which `definitions` parses, `written`
reads tracebacks that are text, `lookup` and `objects` the values behind the text, `ownership` what
belongs to which module, `scene` and `expressions` who called whom with what. `slicing` walks from
an expression back to what decided the place of its tensor. Its cases are in `names`,
`slicing_calls`, `callees` and `keepers`, which is objects; `flow` and `puts` find the statements
that set a name or put something into a value; `scopes`, `running`, `kinds` and `given` are
functions, frames, classes and arguments, `places` what makes and moves, `found` the result, and
`traced` makes lines of it. `origins` knows the notes of an emulation besides, and `keeping` what a
repair can be written for. `naming` says what a line calls its operands, `computed` which part of an
expression is the reason for where its result is, `addresses` how a line reaches a module, and
`targets` what in a function stands for a device. `devlint.crashes` has the table of PyTorch's own
texts. `diagnosis` chooses the kind of mistake, `meetings`, `unmoved`, `sides` and `causes` judge
the commonest one, `from_text` what only a text tells, `surroundings` what is about no two tensors,
and `replicas`, `optimizers`, `loaders`, `generators` and `backwards` one kind each; `mistakes` has
the words that all kinds share.
`caught` finds the error to be explained in a chain, and `notes` leaves the explanation on it.
"""

"""How an error about devices is understood: frames, source text, modules, and what they tell.

`stack` and `source` read frames and the text behind them, `lookup` the values behind the text,
`ownership` what belongs to which module, `scene` who called whom with what, `origins` where a
tensor came from. `diagnosis` chooses the kind of mistake, `meetings` and `causes` judge the
commonest one, and `mistakes` has the words that all kinds share.
"""

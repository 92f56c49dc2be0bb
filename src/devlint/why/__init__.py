"""What is known at a line, and why it is reported or not.

`inspection` is the answer of `devlint why`, `known` what it says of values, which editors show as
well, `alternatives` what would be found if rows of policy on names were off, and `unsettled` what
would settle what isn't known.
"""

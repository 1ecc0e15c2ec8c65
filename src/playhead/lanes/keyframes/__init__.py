"""Keyframes: states kept sparsely, and the inputs that lead from one to the next.

`tree` has a state's bytes, `tiers` and `retention` say which states are kept, `marks` which were the best so far. A
trace is recorded on `tape`, sealed into one file by `sealed`, and read from both by `parts`.
"""

"""Making a model smaller, and counting by how much.

`accounting` counts parameters, bytes and multiply-accumulates of every row of the survey's Table 1; `quantize`, `prune`
and `distill` apply one recipe of each family; `outliers` disables the few weights nothing survives without.
"""

"""Rows of one fixed size in `.npy` files: written at the end, read whole into memory, taken in batches.

`npy` knows the header, `memory` where rows lie while they are used, `loading` how they come there, `writing` how they
are added. Which rows count, and their checksums, is said by `catalog.tables`.
"""

"""The reference in `docs/`, written from the tables and classes of the program.

`python -m docs._ext` writes it; with `--check` it only reports pages that are out of
date. There is one module per page; `pages.py` lists them.
"""

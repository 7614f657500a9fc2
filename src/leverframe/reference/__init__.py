"""The reference in `docs/`, written from the tables and classes that the program runs on.

`python -m leverframe.reference` writes it; with `--check` it only says whether the files are as
they would be written. One module per page; `pages.py` lists them.
"""

"""The storage of many controllers of one process: one file, one thread, shared transactions."""

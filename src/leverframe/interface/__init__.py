"""The interface document as data, and what derives from it: plans, status files, descriptions."""

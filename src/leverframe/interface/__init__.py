"""The interface document as data; the plans, status files and descriptions are derived from it."""

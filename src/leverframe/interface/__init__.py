"""The interface document as data, with the plans, status files and descriptions derived from it."""

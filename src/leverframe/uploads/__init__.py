"""Files that people send to a controller: checked, taken apart and made.

Bytes go in, bytes come out, and nothing else happens. Whatever is wrong with a file is a
`BadUpload`.
"""

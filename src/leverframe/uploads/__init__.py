"""Files that people send to a controller: checked, taken apart and made; nothing but bytes in, bytes
out. Whatever is wrong with one is a `BadUpload`.
"""

"""Keeps tests on this machine; the folder is also a place where Python finds `sitecustomize`."""

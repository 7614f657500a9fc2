"""Tests on a real kernel: they run within the machine that `make test-kernel` boots."""

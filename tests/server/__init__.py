"""Tests of the servers, over loopback sockets or in process."""

"""What answers at which path: commands, status files, the API, pages, uploads, the test bench."""

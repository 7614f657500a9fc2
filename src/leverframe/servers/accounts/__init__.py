"""The identity of a client and its proof: passwords, sessions, guessing, foreign pages."""

"""Who is asking and whether to believe it: passwords, sessions, guessing, foreign pages."""

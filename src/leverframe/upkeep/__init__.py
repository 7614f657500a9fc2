"""What is done while no controller runs: backups, data folders, passwords, a look at the board."""

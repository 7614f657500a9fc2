"""What is done to backups and data folders while no controller runs on them."""

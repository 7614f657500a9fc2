"""Several nodes on one database: who lives, who has which controller, and who answers for it."""

"""What survives a restart: settings, remembered state, uploads, and the folder that holds them."""

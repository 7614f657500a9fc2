"""The simulated board, its simulated plants, and the catalogue of faults."""

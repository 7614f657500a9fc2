"""The simulated board, the plants it acts on, and the catalogue of faults."""

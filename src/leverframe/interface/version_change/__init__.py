"""Settings of one version made into settings of another, and back."""

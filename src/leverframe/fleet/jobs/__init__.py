"""Work on many controllers that goes on where it was: bulk changes and staged roll-outs."""

"""Work on many controllers that can be interrupted and resumed: bulk changes and roll-outs."""

"""How good boundaries and summaries are, as figures which anyone can produce again: `make quality`."""

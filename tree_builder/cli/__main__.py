"""`python -m tree_builder.cli` is the command `tree-builder`."""

from tree_builder.cli import main

main()

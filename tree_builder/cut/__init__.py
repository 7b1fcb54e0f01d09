"""Text to chunks. Plain functions, no I/O."""

from tree_builder.cut.chunks import VERSION, cut

__all__ = ["VERSION", "cut"]

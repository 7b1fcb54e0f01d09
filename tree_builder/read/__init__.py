"""Files to text, and with it to chunks, in processes which may crash without harm."""

from tree_builder.read.document import VERSION, read_bytes, read_file
from tree_builder.read.pool import ReadPool

__all__ = ["VERSION", "ReadPool", "read_bytes", "read_file"]

"""What lies in the corpus folder. No file is opened here; reading is the room next door."""

from tree_builder.paths import source_path
from tree_builder.scan.walk import SUFFIXES, scan

__all__ = ["SUFFIXES", "scan", "source_path"]

"""tree_builder: a folder of documents as a tree of summaries in PostgreSQL, kept true night after night."""

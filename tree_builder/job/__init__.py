"""The nightly job: what changed is found, read, grown and published. It wires the rooms; the command line calls it."""

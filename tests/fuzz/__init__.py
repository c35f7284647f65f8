"""Readers of files that may come from anywhere, with damaged files."""

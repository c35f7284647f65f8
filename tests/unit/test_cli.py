"""The command line: exit codes, messages, files."""

"""One interactive page of HTML about any set of runs: it needs no network and no other file."""

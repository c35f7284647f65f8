"""Numbers that are drawn from words: whatever else happens, the same words draw the same number."""

from __future__ import annotations

from hashlib import blake2b


def drawn(words: str) -> float:
    """A number between 0 and 1, both left out, uniformly distributed over different words."""
    return (int.from_bytes(blake2b(words.encode(), digest_size=8).digest()) + 0.5) / 2**64

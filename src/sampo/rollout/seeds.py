"""Seeds derived from counters, never from a running generator.

A seed is a pure function of where it is used, so a resumed run draws what the unbroken run would
have drawn, and ranks, groups and episodes never share a stream by accident.
"""

from __future__ import annotations

from hashlib import blake2b


def derive_seed(*path: int | str) -> int:
    """Return a 63-bit seed for a path such as `(run_seed, "rollout", update, group, episode)`.

    Example:
        >>> derive_seed(0, "rollout", 3) == derive_seed(0, "rollout", 3)
        True
        >>> derive_seed(0, "rollout", 3) == derive_seed(0, "rollout", 4)
        False
    """
    digest = blake2b(repr(path).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1

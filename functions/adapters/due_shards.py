"""The shards of the index that nominates what is due."""

import hashlib

# One index partition takes 1,000 writes a second and every change of a run moves its entry: 8
# allow about 8,000 changes a second for 8 small queries a minute. More may be added at any time,
# since old entries stay under names that are still swept; fewer would strand runs.
SHARD_COUNT = 8

DUE_SHARDS = tuple(f"due#{number}" for number in range(SHARD_COUNT))


def due_shard(run_id: str) -> str:
    """Return the shard of a run, the same in every process."""
    number = int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:4])
    return DUE_SHARDS[number % SHARD_COUNT]

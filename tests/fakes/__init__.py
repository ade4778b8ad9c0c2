"""Stand-ins for the outside, each with its provider's promises and its faults on demand."""

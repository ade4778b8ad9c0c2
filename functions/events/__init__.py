"""What others tell us unasked. It is never believed: it says where to look, or whom it concerns."""

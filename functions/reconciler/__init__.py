"""What picks a run up when its own execution cannot."""

"""A seeded simulation of everybody who may touch a run, with faults at every call of a port."""

"""The embedded default: the system's own CDK app on an AWS and a Stripe of this machine."""

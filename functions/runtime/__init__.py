"""Settings, logging and the only place where adapters and providers are joined to the domain."""

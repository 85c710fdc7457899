"""Who may use the service: keys, access, limits."""

"""Rating campaigns: several people rate the outputs of several systems, in the browser."""

"""The audit log: what organisers did, who did it and when."""

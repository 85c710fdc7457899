"""The embedded English-German model: data only."""

"""Files to segments: one file a format."""

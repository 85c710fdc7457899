"""The APIs of other translation services, over projects: their clients get an engine that learns."""

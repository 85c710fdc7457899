"""The contracts of learners, metrics, policies and readers as tests, for this package and for plugins."""

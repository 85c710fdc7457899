"""Statistical learners from rewards."""

"""Statistical learners that learn from rewards."""

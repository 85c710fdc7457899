"""Neural learners that learn from rewards."""

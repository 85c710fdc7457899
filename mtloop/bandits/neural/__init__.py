"""Neural learners from rewards."""

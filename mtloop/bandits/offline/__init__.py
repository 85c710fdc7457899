"""Learning from a log of rewards, without asking anybody again."""

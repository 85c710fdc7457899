"""What the commands do: runs, bandit tasks, replays, backward reliability, tuning."""

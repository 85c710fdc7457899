"""The work behind the commands: runs, bandit tasks, replays, backward reliability, tuning."""

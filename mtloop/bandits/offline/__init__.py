"""Offline learning from a log of rewards, without new feedback."""

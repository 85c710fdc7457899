"""Policies that choose among systems, one file each."""

"""Bandit learners: NMT and SMT learners that learn from one reward per translation (2017)."""

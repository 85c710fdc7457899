"""Marian models on a CPU, one segment at a time: load, translate, and compute gradients cheaply."""

"""Defaults that help texts show; apart from the methods, whose import takes seconds."""

from __future__ import annotations

DEFAULT_METHOD = "lora+memory+copy"
COMPARED_METHODS = f"baseline,bias,top,fixed,full,lasso,{DEFAULT_METHOD}"  # those of the 2019 paper, and the default
STREAM_LENGTH = "stream_length"  # the setting that holds the length of the stream, if a method has it

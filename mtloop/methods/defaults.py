"""Defaults that help texts show; apart from the methods, whose import takes seconds."""

from __future__ import annotations

DEFAULT_METHOD = "lora+memory+copy"
COMPARED_METHODS = f"baseline,bias,top,fixed,full,lasso,{DEFAULT_METHOD}"  # those of the 2019 paper, and the default
OPPOSITES_METHODS = f"baseline,{DEFAULT_METHOD}"  # those that `mtloop opposites` runs
BANDIT_METHODS = "copy-source,baseline,nmt-el,nmt-el-cv,nmt-el-recall"  # those that `mtloop bandit` compares
REPORTED_METRICS = "bleu,ter,r0,r1,r01,rer"  # those that `mtloop tune` reports
COUNTING_METRICS = ("r0", "r1", "r01", "rer")  # they need the language
STREAM_LENGTH = "stream_length"  # the setting that holds the length of the stream, if a method has it

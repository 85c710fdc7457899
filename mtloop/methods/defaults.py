"""What help texts show and settings begin with: apart from the methods themselves, which take seconds to import."""

from __future__ import annotations

DEFAULT = "lora+memory+copy"
PIECE = 48  # tokens of source, beyond which it is cut between sentences
COMPARED = f"baseline,bias,top,fixed,full,lasso,{DEFAULT}"  # those of the 2019 paper, and ours
LENGTH = "steps"  # the setting that takes the length of the stream, where a method has it

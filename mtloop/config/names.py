"""The names that help texts show: apart from the methods themselves, which take seconds to import."""

from __future__ import annotations

DEFAULT = "lora+memory+copy"
COMPARED = f"baseline,bias,top,fixed,full,lasso,{DEFAULT}"  # those of the 2019 paper, and ours

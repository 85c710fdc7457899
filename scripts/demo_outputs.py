"""Write the recorded outputs of the demo: the embedded model's translations of the demo document by two methods.

`baseline` is the model without learning, `lora+memory+copy` the default method. Each translates
`mtloop/demo/manual.en-de.tsv` with default settings (greedy search). `mtloop demo --recorded` and the tutorial show
these files.
Run this script again after a change of the model or of a method: python scripts/demo_outputs.py
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mtloop.core.trace import Trace
from mtloop.experiments.demo import BASELINE, DATA, LEARNER

DEMO = Path(__file__).parents[1] / "mtloop" / "demo"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DEMO, help="folder for the two files")
    parser.add_argument("--limit", type=int, help="only the first segments, to check that the files are up to date")
    options = parser.parse_args(argv)
    if options.limit is not None and options.out == DEMO:
        parser.error("--limit needs --out: the package has the translations of all segments")
    for method in (BASELINE, LEARNER):
        outputs = translate(method, options.limit)
        (options.out / f"{method}.txt").write_text("".join(f"{line}\n" for line in outputs), encoding="utf-8")


def translate(method: str, limit: int | None = None) -> list[str]:
    """Return the translations of all segments, or of the first ones, by `mtloop run`."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "run.jsonl"
        command = [sys.executable, "-m", "mtloop", "run", "--data", DEMO / DATA, "--method", method, "--out", trace]
        subprocess.run([*command, *(() if limit is None else ("--limit", str(limit)))], check=True)
        return [step.proposal.text for step in Trace.read(trace).steps]


if __name__ == "__main__":
    main()

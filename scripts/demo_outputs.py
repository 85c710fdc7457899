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
from pathlib import Path

from mtloop.core.trace import Trace
from mtloop.experiments.demo import BASELINE, DATA, LEARNER

DEMO = Path(__file__).parents[1] / "mtloop" / "demo"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DEMO, help="folder for the two files")
    folder = parser.parse_args().out
    for method in (BASELINE, LEARNER):
        outputs = translate(method)
        (folder / f"{method}.txt").write_text("".join(f"{line}\n" for line in outputs), encoding="utf-8")


def translate(method: str) -> list[str]:
    """Return the translations of all segments by `mtloop run`."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "run.jsonl"
        command = [sys.executable, "-m", "mtloop", "run", "--data", DEMO / DATA, "--method", method, "--out", trace]
        subprocess.run(command, check=True)
        return [step.proposal.text for step in Trace.read(trace).steps]


if __name__ == "__main__":
    main()

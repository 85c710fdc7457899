"""A full disk: nothing is acknowledged and lost, and work goes on when there is space again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from helpers.mounts import in_mount_namespace, needs_mounts

# The database is on a small disk of its own. The lessons are stored before the disk is full, and learned afterwards: so
# the engine saves a snapshot on the full disk.
FULL = """
mount -t tmpfs -o size=12m none {folder}
{python} - <<'END'
import json
from pathlib import Path

from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs
from mtloop.service import Settings
from mtloop.service.engines.learner_state import SNAPSHOT_EVERY

folder, seen = Path("{folder}"), dict()
pairs = demo_pairs()[: SNAPSHOT_EVERY + 2]
server = TaskServer(Settings(folder=folder / "data", models="{model}", engine_linger=1), folder)


def confirm(pair, **fields):
    body = dict(source=pair[0], translation=pair[1], proof=False, **fields)
    return client.post("/v1/projects/manual/confirm", json=body)


def status(path, **body):
    return client.post(f"/v1/projects/manual/{{path}}", json=body).status_code


def snapshots():
    return len(server.with_storage(lambda storage: storage.projects.snapshots(1)))


with server.serve(server.participant("ann")) as client:
    assert client.post("/v1/projects", json=dict(name="manual")).status_code == 201
    for pair in pairs[:SNAPSHOT_EVERY]:
        assert confirm(pair, wait="durable").status_code == 200
    with (folder / "filler").open("wb", buffering=0) as filler:
        for size in (4096, 64, 1):
            try:
                while True:
                    filler.write(bytes(size))
            except OSError:
                pass
    seen["confirm"] = [confirm(pair).status_code for pair in pairs[SNAPSHOT_EVERY:]]
    seen["problem"] = confirm(pairs[-1]).json()["type"]
    seen["translate"] = status("translate", text="Hello.")
    seen["snapshots"] = snapshots()
    (folder / "filler").unlink()
    last = confirm(pairs[-1])
    seen["later"] = [last.status_code, last.json()["new"], last.json()["number"]]
    texts = client.post("/v1/projects/manual/translate", json=dict(text=[source for source, _ in pairs])).json()
    seen["repeated"] = [one["repeated"] for one in texts["translations"]]
    rows = client.get("/v1/projects/manual/corrections").json()["corrections"]
    seen["states"] = sorted({{row["state"] for row in rows}})
    assert client.get("/v1/projects/manual/delta").status_code == 200
    seen["saved"] = snapshots()
print(json.dumps(seen))
END
"""


@pytest.mark.slow
@needs_mounts
def test_corrections_and_snapshots_on_a_full_disk(tmp_path: Path, tiny_model: str) -> None:
    helpers = Path(__file__).parents[2]
    commands = FULL.format(folder=tmp_path, python=sys.executable, model=tiny_model)
    done = in_mount_namespace(f"export PYTHONPATH={helpers}:$PYTHONPATH\n{commands}")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["confirm"] == [503, 503], done.stderr
    assert seen["problem"] == "urn:mtloop:database-unavailable"
    assert (seen["translate"], seen["snapshots"]) == (200, 0)
    assert seen["later"] == [200, True, 27]
    assert seen["repeated"] == [True] * 25 + [False, True]
    assert seen["states"] == ["learned"]
    assert seen["saved"] >= 1

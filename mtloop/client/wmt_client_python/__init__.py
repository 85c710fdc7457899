"""The interface of the 2017 shared task's client, implemented with `mtloop.client`, so that old programs run.

    from mtloop.client import wmt_client_python
    from mtloop.client.wmt_client_python.rest import ApiException

    wmt_client_python.configuration.host = "http://localhost:8017/v1/tasks/mock"
    wmt_client_python.configuration.api_key["x-api-key"] = key
    api = wmt_client_python.SharedTaskApi()

or, without any change to the program: `python -m mtloop.client.wmt_client_python program.py ARGUMENTS`.

In 2017 each task had its own address, and each key had one stream. Here `configuration.host` is the address of a task.
If it has no task name, the service must have exactly one task. The stream is the newest run of the key in that task; a
run is started if there is none.
"""

from mtloop.client.wmt_client_python.api import SharedTaskApi
from mtloop.client.wmt_client_python.configuration import Configuration, configuration
from mtloop.client.wmt_client_python.models import Sentence, Translation, TranslationResponse

__all__ = ["Configuration", "Sentence", "SharedTaskApi", "Translation", "TranslationResponse", "configuration"]

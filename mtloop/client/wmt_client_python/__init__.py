"""The names of the 2017 shared task's own client, over this one, so that code written for it runs.

    from mtloop.client import wmt_client_python
    from mtloop.client.wmt_client_python.rest import ApiException

    wmt_client_python.configuration.host = "http://localhost:8017/v1/tasks/mock"
    wmt_client_python.configuration.api_key["x-api-key"] = key
    api = wmt_client_python.SharedTaskApi()

or, with not a line changed: `python -m mtloop.client.wmt_client_python program.py ARGUMENTS`.

In 2017 an address was that of one task, and the service knew one stream a key. Here the address is the task's; where
it names none, the service's only task is meant. The stream is the newest run of the key in that task, started when
there is none.
"""

from mtloop.client.wmt_client_python.api import SharedTaskApi
from mtloop.client.wmt_client_python.configuration import Configuration, configuration
from mtloop.client.wmt_client_python.models import Sentence, Translation, TranslationResponse

__all__ = ["Configuration", "Sentence", "SharedTaskApi", "Translation", "TranslationResponse", "configuration"]

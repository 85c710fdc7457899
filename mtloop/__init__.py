"""Machine translation that learns from every correction, and the instruments that prove it does.

>>> from mtloop.core import run
>>> from mtloop.data import pairs
>>> from mtloop.judges import PostEditor
>>> from mtloop.metrics import BLEU
>>> from mtloop.methods.recorded import Recorded
>>> stream = pairs(["Open the file.", "Close the file."], ["Öffnen Sie die Datei.", "Schließen Sie die Datei."])
>>> system = Recorded(["Öffnen Sie die Datei.", "Schließen Sie die Akte."])
>>> steps = list(run(stream, system, PostEditor()))
>>> print(BLEU().score(steps))
68.87
"""

__version__ = "0.1.0"

"""A stream in which learning helps one segment and harms two, and its baseline."""

from __future__ import annotations

from helpers.steps import make_steps

SOURCES = [
    "Log in",
    "Enable the option.",
    "Log out",
    "Open the file.",
    "Disable the option.",
    "log in",
    "Print a list of all names",
    "Open the door.",
]
REFERENCES = [
    "Anmelden",
    "Aktivieren Sie die Option.",
    "Abmelden",
    "Öffnen Sie die Datei.",
    "Deaktivieren Sie die Option.",
    "Anmelden",
    "Eine Liste aller Namen drucken",
    "Öffnen Sie die Tür.",
]
BASE_OUTPUTS = [
    "Einloggen",
    "Die Option einschalten.",
    "Ausloggen",
    "Die Datei öffnen.",
    "Deaktivieren Sie die Option.",
    "Einloggen",
    "Alle Namen drucken",
    "Die Tür öffnen.",
]
OUTPUTS = [
    "Einloggen",
    "Die Option einschalten.",
    "Anmelden",  # a flip, as far from the reference as the baseline
    "Öffnen Sie die Datei.",  # better
    "Aktivieren Sie die Option.",  # a flip, and worse
    "Anmelden",
    "Alle Namen drucken",
    "Die Tür öffnen.",
]
LESSONS = {2: 0, 3: 1, 4: 1, 7: 3}  # positions of segments and of their lessons
BASELINE = make_steps(BASE_OUTPUTS, REFERENCES, SOURCES)
LEARNER = make_steps(OUTPUTS, REFERENCES, SOURCES)

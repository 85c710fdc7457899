"""What axe-core finds wrong in a page."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def accessibility_faults(page: Page) -> list[str]:
    """The violations of the page as it is now: the rule, the element, what is wrong. Empty if there are none."""
    page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => null)))")
    found = Axe().run(page).response["violations"]
    return [f"{rule['id']} {node['target']}: {node['failureSummary']}" for rule in found for node in rule["nodes"]]

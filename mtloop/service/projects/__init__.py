"""Projects: people translate, confirm and correct, and an engine learns from it."""

"""Documents of a project: files whose units people translate in the browser."""

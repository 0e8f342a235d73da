"""`warploom visualize`: pages in a browser, an API for them, and news while a run goes on."""

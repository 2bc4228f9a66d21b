"""The access log of an Envoy, as the verdicts that it has."""

import json
import time

from .envoy import PATIENCE


class Verdicts:
    """Reads the entries that have a verdict, each once."""

    def __init__(self, path):
        self.path = path
        self.seen = 0

    def take(self, count):
        """The entries since the last call. Waits until there are `count`."""
        deadline = time.monotonic() + PATIENCE
        while True:
            entries = self.entries()[self.seen :]
            if len(entries) >= count or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        self.seen += len(entries)
        assert len(entries) == count, f"{len(entries)} verdicts in the access log, expected {count}: {entries[-3:]}"
        return entries

    def entries(self):
        try:
            with open(self.path) as log:
                entries = [json.loads(line) for line in log if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [entry for entry in entries if entry.get("verdict")]

"""Checkpoint: what a pass has summed so far, in one file, so that it can go on after it was killed."""

import json
import os
import time
import zipfile

import numpy as np

from mercer._warn import warn

EVERY = 20.0  # seconds between two writings


class Checkpoint:
    """The finished subtrees of a pass: written beside the file and moved into its place, so it is always whole.

    Parameters
    ----------
    path : str or os.PathLike
    every : float, default=20.0
        Seconds between two writings.
    """

    def __init__(self, path, every=EVERY):
        self.path, self.every = os.fspath(path), every
        self._last = time.monotonic()
        self._failed = False

    def load(self, fingerprint):
        """(tasks done, [(level, arrays)]) of a pass with this fingerprint; None where there is none."""
        try:
            with np.load(self.path, allow_pickle=False) as file:
                head = json.loads(str(file["head"]))
                if head["fingerprint"] != fingerprint:
                    return None
                stack = [
                    (level, tuple(file[f"{i}_{j}"] for j in range(head["arrays"])))
                    for i, level in enumerate(head["levels"])
                ]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            warn(f"{self.path!r} is no checkpoint of this pass ({error}): it begins anew.", RuntimeWarning)
            return None
        return head["done"], stack

    def due(self):
        """Whether it is time to write."""
        return not self._failed and time.monotonic() - self._last >= self.every

    def save(self, fingerprint, done, stack):
        """Write; a disk that is full is a warning, and the pass goes on without."""
        head = {"fingerprint": fingerprint, "done": done, "levels": [level for level, _ in stack]}
        head["arrays"] = len(stack[0][1]) if stack else 0
        arrays = {f"{i}_{j}": array for i, (_, parts) in enumerate(stack) for j, array in enumerate(parts)}
        beside = f"{self.path}.{os.getpid()}.part"
        try:
            with open(beside, "wb") as file:
                np.savez(file, head=np.array(json.dumps(head)), **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)
        except OSError as error:
            self._failed = True
            warn(f"no checkpoint was written to {self.path!r} ({error}); the fit goes on without.", RuntimeWarning)
            if os.path.exists(beside):
                os.remove(beside)
        self._last = time.monotonic()

    def remove(self):
        """Delete the file: the pass is done."""
        if os.path.exists(self.path):
            os.remove(self.path)

"""Checkpoint: what each pass of a fit has summed so far, in a file of its own: killed, the fit goes on from there."""

import glob
import json
import os
import time
import zipfile

import numpy as np

from mercer._warn import warn


class Checkpoint:
    """The finished subtrees of passes: each written beside its file and moved into its place, so it is always whole.

    A fit makes several passes, a file for each whose name begins with ``path``. Those that are done are kept too:
    started again, it does not make them again.
    """

    def __init__(self, path, every=20.0):  # seconds between two writings
        self.path, self.every = os.fspath(path), every
        self._last = time.monotonic()
        self._failed = False

    def _file(self, fingerprint):
        """The file of a pass."""
        return f"{self.path}.{fingerprint[:8]}"

    def load(self, fingerprint):
        """(tasks done, [(level, arrays)]) of a pass with this fingerprint; None where there is none."""
        path = self._file(fingerprint)
        try:
            with np.load(path, allow_pickle=False) as file:
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
            warn(f"{path!r} is no checkpoint of this pass ({error}): it begins anew.", RuntimeWarning)
            return None
        return head["done"], stack

    def due(self, fingerprint, last):
        """Whether it is time to write; after the last task also where there is a file of fewer."""
        late = time.monotonic() - self._last >= self.every
        return not self._failed and (late or (last and os.path.exists(self._file(fingerprint))))

    def save(self, fingerprint, done, stack):
        """Write; a disk that is full is a warning, and the pass goes on without."""
        head = {"fingerprint": fingerprint, "done": done, "levels": [level for level, _ in stack]}
        head["arrays"] = len(stack[0][1]) if stack else 0
        arrays = {f"{i}_{j}": array for i, (_, parts) in enumerate(stack) for j, array in enumerate(parts)}
        path = self._file(fingerprint)
        beside = f"{path}.{os.getpid()}.part"
        try:
            with open(beside, "wb") as file:
                np.savez(file, head=np.array(json.dumps(head)), **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except OSError as error:
            self._failed = True
            warn(f"no checkpoint was written to {path!r} ({error}); the fit goes on without.", RuntimeWarning)
            if os.path.exists(beside):
                os.remove(beside)
        self._last = time.monotonic()

    def remove(self):
        """Delete the files: the fit is done."""
        for name in glob.glob(f"{glob.escape(self.path)}.{'[0-9a-f]' * 8}*"):
            if len(name) == len(self.path) + 9 or name.endswith(
                ".part"
            ):  # also what was half written when it was killed
                os.remove(name)

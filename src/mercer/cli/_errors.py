"""How a command ends before its end."""


class Usage(Exception):
    """Something on the command line cannot be meant as it stands."""


class Interrupted(Exception):
    """Ctrl-C, after so many files were written: what a library made of it does not count."""

    def __init__(self, written=()):
        super().__init__()
        self.written = [path for path in written if path]

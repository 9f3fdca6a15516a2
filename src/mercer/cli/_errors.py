"""How a command ends before its end."""


class Usage(Exception):
    """Something on the command line cannot be meant as it stands."""


class Interrupted(Exception):
    """Ctrl-C: typer would take a KeyboardInterrupt for itself."""

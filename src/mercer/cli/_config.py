"""``--config file.toml``: the same options as on the command line, by their long names."""


def apply_config(context, value):
    """Take the values of a TOML file as defaults of the command."""
    if not value or context.resilient_parsing:
        return value
    import tomllib

    from mercer.cli._errors import Usage

    try:
        with open(value, "rb") as file:
            found = tomllib.load(file)
    except FileNotFoundError:
        raise Usage(f"--config: there is no file {value}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Usage(f"--config {value}: {error}") from None
    several = {one.name: getattr(one, "multiple", False) for one in context.command.params if one.name != "config"}
    known = list(several)
    defaults = {}
    for key, given in found.items():
        name = key.replace("-", "_")
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0].replace('_', '-')!r}?" if near else ""
            raise Usage(f"--config {value}: `mercer {context.info_name}` has no option {key!r}{hint}")
        if isinstance(given, dict):
            raise Usage(f"--config {value}: {key} must be a value, not a section")
        if isinstance(given, str) and several[name]:
            raise Usage(f'--config {value}: {key} is a list: write {key} = ["{given}"]')
        defaults[name] = given
    context.default_map = {**(context.default_map or {}), **defaults}
    return value


apply_config.__annotations__ = {}  # filled by `annotate`, so that typer knows the context


def annotate():
    """Tell typer the types of `apply_config`, which must not import it."""
    import typer

    apply_config.__annotations__ = {"context": typer.Context, "value": str | None}

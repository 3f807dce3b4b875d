"""`stitch config`."""

from __future__ import annotations

from typing import Any

import click
import orjson

from stitch.config import load_settings, plain_values
from stitch.console.options import json_option, memory_options
from stitch.console.printing import print_json


@click.command()
@memory_options
@json_option
def command(as_json: bool, config: str | None, **arguments: Any) -> None:
    """List the settings, their values and where each comes from.

    Arguments win over environment variables (STITCH_ and the name in capitals), these over the YAML file of --config
    or STITCH_CONFIG, this over the defaults. Keys are never shown.

    \b
    Example:
      STITCH_K=20 stitch config --config stitch.yaml
    """
    settings, origins = load_settings(config, **arguments)
    rows = {name: {"value": value, "from": origins[name]} for name, value in plain_values(settings).items()}
    if as_json:
        print_json(rows)
        return
    width = max(map(len, rows))
    for name, row in rows.items():
        click.echo(f"{name:<{width}}  {_as_written(row['value']):<24}  {row['from']}")


def _as_written(value: Any) -> str:
    """A value as a file of settings has it; `-` where there is none."""
    if value is None or value == []:
        return "-"
    return value if isinstance(value, str) else orjson.dumps(value).decode()

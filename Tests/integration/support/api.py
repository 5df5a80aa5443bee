"""The description of the control API, as the tests use it."""

import json
from functools import cache
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from .programs import ROOT

FILE = ROOT / "Documentation" / "control-api.yaml"
FIXTURES = ROOT / "Tests" / "Fixtures" / "control-api"


@cache
def description() -> dict:
    # By libyaml, in a tenth of the time: a handler that is to report in time may wait for this.
    return yaml.load(FILE.read_text(), Loader=yaml.CSafeLoader)


@cache
def _registry() -> Registry:
    return Registry().with_resource("api", Resource(contents=description(), specification=DRAFT202012))


def check(message: object, schema: str) -> None:
    """Fails with every way in which `message` is not what the description says."""
    validator = Draft202012Validator({"$ref": f"api#/components/schemas/{schema}"}, registry=_registry())
    errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(message)]
    assert not errors, f"{json.dumps(message)[:2000]} is no {schema}: {errors}"


def fixtures() -> list[Path]:
    return sorted(FIXTURES.glob("*/*.json"))

"""GitHub's OpenAPI description, cut down to the endpoints that the fake serves so that it loads quickly."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.contract.fetch import OPENAPI

Spec = dict[str, Any]
Endpoint = tuple[str, str]

# Prose and samples; they make up most of the file and no check reads them.
PROSE = {
    "description",
    "summary",
    "example",
    "examples",
    "externalDocs",
    "tags",
    "operationId",
    "x-github",
    "callbacks",
}
# Raised when the cut itself changes, so that old caches are not used.
REVISION = 3


def load(folder: Path, endpoints: Iterable[Endpoint]) -> Spec:
    """The trimmed description, from the cache beside the fetched file or made now."""
    wanted = sorted(endpoints)
    key = hashlib.sha256(json.dumps([REVISION, wanted]).encode()).hexdigest()[:12]
    cached = folder / f"{Path(OPENAPI.kept_as).stem}-{key}.json"
    if not cached.is_file():
        whole = json.loads((folder / OPENAPI.kept_as).read_text(encoding="utf-8"))
        part = cached.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(trim(whole, wanted)), encoding="utf-8")
        part.replace(cached)
    spec: Spec = json.loads(cached.read_text(encoding="utf-8"))
    return spec


def trim(spec: Spec, endpoints: Iterable[Endpoint]) -> Spec:
    """Only the named endpoints and the components they lead to; `x-paths` lists what else GitHub has."""
    paths: Spec = {}
    for method, template in endpoints:
        operation = spec["paths"].get(template, {}).get(method.lower())
        if operation is not None:
            paths.setdefault(template, {})[method.lower()] = strip(operation)
    components: Spec = {}
    queue = list(references(paths))
    while queue:
        kind, name = queue.pop().removeprefix("#/components/").split("/")
        if name not in components.setdefault(kind, {}):
            components[kind][name] = strip(spec["components"][kind][name])
            queue += references(components[kind][name])
    known = {template: sorted(item) for template, item in spec["paths"].items()}
    return {
        "openapi": spec["openapi"],
        "info": {"title": "GitHub", "version": OPENAPI.version},
        "servers": [{"url": "http://fake"}],
        "paths": paths,
        "components": components,
        "x-paths": known,
    }


def strip(node: Any, *, names: bool = False) -> Any:
    """A copy without prose; below `properties` the keys are names and all stay."""
    if isinstance(node, list):
        return [strip(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    kept = {
        key: strip(value, names=not names and key == "properties")
        for key, value in node.items()
        if names or key not in PROSE
    }
    return kept if names else _mend(kept)


def _mend(schema: Spec) -> Spec:
    """Two slips of the description, put right so that they hide nothing else."""
    if schema.get("nullable") is True and None not in schema.get("enum", [None]):
        # Such a field is null at times; OpenAPI 3.0 wants null among the values too.
        schema["enum"] = [*schema["enum"], None]
    if "array" in schema.get("discriminator", {}).get("mapping", {}):
        # A folder listing is told apart by being a list; it has no property to look at.
        del schema["discriminator"]
    return schema


def references(node: Any) -> Iterator[str]:
    """Every `$ref` below a node."""
    if isinstance(node, Mapping):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)

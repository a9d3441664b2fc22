"""The committed schemas as JSON Schema's Python implementation sees them: `contracts.py FOLDER`.

Every file in FOLDER is a schema of the dialect it declares, and so is each of its parts that we hand out by itself; the
examples of a contract satisfy it. What OpenAPI embeds is of its own dialect, 2020-12. Prints what was wrong, and how
much was looked at.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for


class Findings:
    """What should have been different, and what was looked at."""

    def __init__(self):
        self.wrong, self.seen = [], Counter()

    def check_schema(self, dialect, schema, where):
        """Patterns and the like are looked at, too: what the meta-schema calls a format is checked."""
        self.seen["schemas"] += 1
        try:
            dialect.check_schema(schema, format_checker=dialect.FORMAT_CHECKER)
        except SchemaError as err:
            self.wrong.append(f"{where}{err.json_path.removeprefix('$')}: {err.message}")
            return False
        return True

    def check_document(self, document, name):
        """A whole file, of the dialect that it declares. Gives that dialect."""
        dialect = validator_for(document, default=None)
        if dialect is None:
            self.wrong.append(f"{name}: `$schema` is {document.get('$schema')!r}, which is no dialect")
        elif self.check_schema(dialect, document, name):
            return dialect
        return None

    def check_contract(self, document, name):
        declared = self.check_document(document, name)
        if declared is None:
            return
        if not document["examples"]:
            self.wrong.append(f"{name}: no examples")
        for part in ("input", "output"):
            schema = document["properties"][part]
            # MCP hands the parts out without a dialect, which then is 2020-12.
            if self.check_schema(Draft202012Validator, schema, f"{name}.properties.{part}"):
                for dialect in {declared, Draft202012Validator}:
                    self.check_examples(dialect(schema, format_checker=dialect.FORMAT_CHECKER), part, document, name)

    def check_examples(self, validator, part, document, name):
        for index, example in enumerate(document["examples"]):
            self.seen["values in examples"] += 1
            for err in validator.iter_errors(example[part]):
                where = f"{name}.examples[{index}].{part}{err.json_path.removeprefix('$')}"
                self.wrong.append(f"{where}: {err.message}")


def embedded(part, where):
    """The schemas in an OpenAPI document, with their places."""
    if isinstance(part, list):
        for index, item in enumerate(part):
            yield from embedded(item, f"{where}[{index}]")
    elif isinstance(part, dict):
        for key, value in part.items():
            if key == "schema":
                yield value, f"{where}.{key}"
            elif key == "schemas":
                yield from ((schema, f"{where}.{key}.{name}") for name, schema in value.items())
            else:
                yield from embedded(value, f"{where}.{key}")


def main(folder):
    findings = Findings()
    for file in sorted(Path(folder).glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        findings.seen["files"] += 1
        if file.name == "openapi.json":
            for schema, where in embedded(document, file.name):
                findings.check_schema(Draft202012Validator, schema, where)
        elif file.name == "config.schema.json":
            findings.check_document(document, file.name)
        else:
            findings.check_contract(document, file.name)
    for kind in ("files", "schemas", "values in examples"):
        if not findings.seen[kind]:
            findings.wrong.append(f"{folder}: no {kind}")
    print(*(f"{count} {what}," for what, count in findings.seen.items()), "looked at")
    for message in findings.wrong:
        print("WRONG", message)
    return 1 if findings.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

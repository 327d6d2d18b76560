"""Validates generated inputs with PyPI jsonschema and with the tools, and compares the results.

usage: schemas.py BD XTASK WORKDIR SEED COUNT
"""

import json
import os
import random
import subprocess
import sys

from jsonschema import Draft7Validator

BD, XTASK, WORK, SEED, COUNT = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
SAMPLE = 12  # inputs of each tool that go through the real program
REFUSED = {"missing_field", "invalid_type", "invalid_value", "invalid_json"}

repo = os.path.join(WORK, "repo")
os.makedirs(repo)
subprocess.run(["git", "init", "-q", repo], check=True)
env = {**os.environ, "BD_NO_DAEMON": "1", "BD_ACTOR": "ann", "HOME": WORK}


def bd(*args, stdin="", cwd=repo):
    return subprocess.run([BD, *args], input=stdin, capture_output=True, text=True, cwd=cwd, env=env)


LETTERS = "abcdefgh-01 .:ABC"
ODD = ["\n", "\t", "\x00", "\x7f", "\x85", "\u00a0", "\u3000", "ä", "\U0001f41d", ",", "/", "\\", "{", "*", "\u2028"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def text(self, schema, length=None):
        least, most = schema.get("minLength", 0), schema.get("maxLength", 20)
        if length is None:
            # Mostly short; sometimes exactly at a bound.
            length = self.random.choice([least, min(most, 5000)]) if self.random.random() < 0.1 else self.random.randint(least, min(most, max(least, 20)))
        return "".join(self.random.choice(ODD) if self.random.random() < 0.03 else self.random.choice(LETTERS) for _ in range(length))

    def fitting(self, schema):
        """Returns a text that matches the pattern, most of the time."""
        pattern, r = schema.get("pattern", ""), self.random
        if "CONFLICT-" in pattern:
            return "CONFLICT-" + "".join(r.choice("0123456789abcdef") for _ in range(32))
        if "T([01]" in pattern:
            fraction = r.choice(["", ".5", ".123", ".123456789"])
            return f"{r.randint(1969, 2101)}-{r.randint(1, 12):02}-{r.choice([1, 15, 28, 29, 30, 31]):02}T{r.randint(0, 24):02}:{r.randint(0, 59):02}:{r.randint(0, 59):02}{fraction}{r.choice(['Z', 'Z', 'Z', 'Z', '+01:00', 'Z' + chr(10)])}"
        if r"\." in pattern and "[1-3]" in pattern:
            return f"{r.randint(0, 5 * 10**12)}.{r.randint(0, 2**33)}"
        if "[^a-z0-9-]" in schema.get("not", {}).get("pattern", ""):
            return "-".join("".join(r.choice("abc019") for _ in range(r.randint(1, 5))) for _ in range(r.randint(1, 3)))
        if pattern.startswith("^[A-Za-z0-9][A-Za-z0-9._]*-"):
            return r.choice("bdX1") + r.choice(["", "d", "."]) + "-" + "".join(r.choice("abc019._-") for _ in range(r.randint(0, 5)))
        return self.text(schema)

    def value(self, schema):
        r = self.random
        kinds = schema.get("type")
        kind = r.choice(kinds) if isinstance(kinds, list) else kinds
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return r.choice(schema["enum"])
        if kind == "null":
            return None
        if kind == "boolean":
            return r.random() < 0.5
        if kind == "integer":
            low, high = schema["minimum"], schema["maximum"]
            number = r.choice([low, high, r.randint(low, high)])
            return float(number) if r.random() < 0.1 and number < 2**50 else number
        if kind == "string":
            return self.fitting(schema) if r.random() < 0.9 else self.text(schema)
        if kind == "array":
            least, most = schema.get("minItems", 0), min(schema.get("maxItems", 3), 3)
            return [self.value(schema["items"]) for _ in range(r.randint(least, max(least, most)))]
        if kind == "object" and "properties" in schema:
            return self.object(schema)
        return {"k" + str(n): r.choice([1, 2.5, "v", None, [1], {"a": {}}]) for n in range(r.randint(0, 3))}

    def object(self, schema):
        required = schema.get("required", [])
        share = self.random.choice([0.05, 0.2, 0.5])
        return {
            name: self.value(field)
            for name, field in schema["properties"].items()
            if name in required or self.random.random() < share
        }

    def broken(self, schema):
        """Returns an input that is probably invalid; the validator decides."""
        r, value = self.random, self.object(schema)
        name = r.choice(list(schema["properties"]))
        field = schema["properties"][name]
        how = r.randrange(7)
        if how == 0 and value:
            value.pop(r.choice(list(value)))
        elif how == 1:
            value[r.choice(["unknown", "Title", "id ", "batch", ""])] = r.choice([1, "x", None])
        elif how == 2:
            value[name] = r.choice([None, True, 3, 2.5, "x", [], {}, [None], {"a": 1}, -1, 10**30, 1e300])
        elif how == 3 and field.get("type") == "integer":
            value[name] = r.choice([field["minimum"] - 1, field["maximum"] + 1, field["minimum"] + 0.5])
        elif how == 4 and "maxLength" in field and field["maxLength"] < 10**4:
            value[name] = "a" * r.choice([0, field["maxLength"], field["maxLength"] + 1])
        elif how == 5:
            value[name] = r.choice(ODD) * r.randint(0, 4)
        elif how == 6 and field.get("type") == "array":
            value[name] = [r.choice([self.value(field["items"]), None, 7, "", "a,b", "\n"]) for _ in range(r.randint(0, 4))]
        return value


def judge(lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    run = subprocess.run([XTASK, "judge"], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.split("\n") if line]


def compliance(name, schema):
    """Runs the checks of the contract's own script."""
    assert bd("tool", name, "--help").returncode == 0, f"{name}: no help"
    refused = bd("tool", name, stdin="invalid")
    assert json.loads(refused.stdout)["ok"] is False and refused.returncode != 0, f"{name}: accepts input that is not JSON"
    empty = bd("tool", name, stdin="{}")
    assert empty.stdout.strip() and json.loads(empty.stdout), f"{name}: no document"
    if schema.get("required"):
        assert empty.returncode != 0, f"{name}: a missing field is not an error"


def main():
    tools = [tool["name"] for tool in json.loads(bd("tool").stdout)["result"]]
    differ, total, valid_total, sampled = [], 0, 0, 0
    for name in tools:
        schemas = {kind: json.loads(bd("tool", name, f"--schema={kind}").stdout) for kind in ("input", "output", "batch")}
        for schema in schemas.values():
            Draft7Validator.check_schema(schema)
        compliance(name, schemas["input"])
        schema = schemas["input"]
        validator = Draft7Validator(schema)
        generator = Generator(f"{SEED}/{name}")
        inputs = [generator.object(schema) if n % 2 else generator.broken(schema) for n in range(COUNT)]
        # Batches have a separate schema.
        inputs = [value for value in inputs if not (isinstance(value, dict) and value.get("batch") is True)]
        verdicts = judge([{"tool": name, "input": value} for value in inputs])
        valid = 0
        for value, verdict in zip(inputs, verdicts, strict=True):
            expected = validator.is_valid(value)
            valid += expected
            if expected != verdict["ok"]:
                differ.append((name, value, expected, verdict))
        total, valid_total = total + len(inputs), valid_total + valid
        for value in inputs[:SAMPLE]:
            if "repo" in value or "scope" in value:
                continue  # the schema cannot say whether a repository exists or a glob is valid
            run = bd("tool", name, stdin=json.dumps(value))
            document = json.loads(run.stdout.split("\n")[0])
            refused = document.get("error") in REFUSED
            sampled += 1
            if refused == validator.is_valid(value):
                differ.append((name, value, not refused, document))
        print(f"{name}: {len(inputs)} inputs, {valid} valid")
    for name, value, expected, verdict in differ[:20]:
        print(f"DIFFERS {name}: {json.dumps(value)[:300]} validator says {expected}, tool says {json.dumps(verdict)[:300]}")
    print(f"{len(tools)} tools, {total} inputs ({valid_total} valid), {sampled} through the program, {len(differ)} judged differently")
    sys.exit(1 if differ else 0)


main()

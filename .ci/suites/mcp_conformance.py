"""Judges the results of the conformance suite: every check must pass, except those that do not apply to our server.

Usage: mcp_conformance.py REVISION DIRECTORY
"""

import json
import pathlib
import re
import sys

# Scenarios that must run and pass, except for the checks named below.
REQUIRED = {
    "2025-06-18": ["server-initialize", "ping", "tools-list"],
    "2025-11-25": ["server-initialize", "ping", "tools-list"],
    "2026-07-28": [
        "server-stateless",
        "tools-list",
        "caching",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
    ],
}

# Checks that fail in them, and why they do not apply.
NOT_APPLICABLE = {
    "sep-2575-http-server-header-mismatch-400": "HTTP headers",
    "sep-2575-server-rejects-undeclared-capability": "fixture tool test_missing_capability",
    "sep-2575-missing-capability-http-400": "fixture tool test_missing_capability",
    "sep-2575-http-server-no-independent-requests-on-stream": "fixture tool test_streaming_elicitation",
    "sep-2575-server-no-log-without-loglevel": "fixture tool test_logging_tool",
    "sep-2549-prompts-list-caching-hints": "there are no prompts",
    "sep-2549-resources-list-caching-hints": "there are no resources",
    "sep-2549-resources-templates-list-caching-hints": "there are no resources",
}

# All other scenarios need a fixture tool, prompts, resources, completions, logging, or HTTP.
OTHERS = re.compile(
    r"tools-call-|json-schema-2020-12|elicitation-|resources-|prompts-|completion-|logging-|input-required-|tasks-|sep-2640-"
    r"|server-sse-|server-session-lifecycle|dns-rebinding|http-"
)


def main(revision, directory):
    found = {}
    for file in sorted(pathlib.Path(directory).glob("*/checks.json")):
        name = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT.*", file.parent.name).group(1)
        found[name] = json.loads(file.read_text())
    bad = [f"{name} did not run" for name in REQUIRED[revision] if name not in found]
    passed = 0
    for name, checks in found.items():
        if name not in REQUIRED[revision]:
            if not OTHERS.match(name):
                bad.append(f"{name} is a new scenario: add it to REQUIRED or OTHERS")
            continue
        for check in checks:
            if check["status"] == "SUCCESS":
                passed += 1
            elif check["status"] == "FAILURE" and check["id"] not in NOT_APPLICABLE:
                bad.append(f"{name}: {check['id']}: {check.get('errorMessage')}")
    for line in bad:
        print(f"{revision}: {line}")
    if bad:
        sys.exit(1)
    print(f"{revision}: {passed} checks of {len(REQUIRED[revision])} scenarios passed")


main(*sys.argv[1:])

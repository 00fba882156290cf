#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Validates SARIF reports against the 2.1.0 schema, and against what GitHub asks for besides.

usage: sarif.py SAMPLE-PROGRAM CACHE-FOLDER

The schema is in no Debian package. It is taken from $HOLDFAST_SARIF_SCHEMA, or once from the package
below with the npm client (its checksum is checked) and kept in the cache folder. Without either,
that part is skipped; the rest of the checks need nothing. $HOLDFAST_SARIF_MULTITOOL names the program of the
npm package @microsoft/sarif-multitool, whose validator is asked as well then.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
MEMBER = "package/lib/schemas/sarif-2.1.0-rtm.5.json"
SHA256 = "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8"
MAX_RESULTS, MAX_FLOW, MAX_LOCATIONS, MAX_TAGS = 25000, 1000, 100, 10


def fetch():
    """The schema's text, out of the npm package."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, timeout=60,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        package, = pathlib.Path(folder).glob("*.tgz")
        with tarfile.open(package) as tar:
            return tar.extractfile(MEMBER).read()


def schema(cache):
    """The schema, or a sentence saying why there is none."""
    given = os.environ.get("HOLDFAST_SARIF_SCHEMA")
    if given:
        return json.loads(pathlib.Path(given).read_text())
    kept = cache / "sarif-2.1.0-rtm.5.json"
    if not kept.exists():
        try:
            text = fetch()
        except (OSError, KeyError, subprocess.SubprocessError, tarfile.TarError) as error:
            return f"the schema cannot be had: {error}"
        if hashlib.sha256(text).hexdigest() != SHA256:
            return "the schema has another checksum"
        kept.write_bytes(text)
    return json.loads(kept.read_text())


def check_schema(log, rules):
    import jsonschema
    checker = jsonschema.FormatChecker()
    errors = list(jsonschema.Draft4Validator(rules, format_checker=checker).iter_errors(log))
    assert not errors, "\n".join(f"{list(e.path)}: {e.message}" for e in errors[:5])


def check_schema_is_strict(log, rules):
    """The validator finds what is wrong: the checks above mean something."""
    for damage in (lambda r: r.pop("message"), lambda r: r.update(level="bad"), lambda r: r.update(extra=1),
                   lambda r: r["locations"][0]["physicalLocation"]["region"].update(startLine=0)):
        broken = json.loads(json.dumps(log))
        damage(broken["runs"][0]["results"][0])
        try:
            check_schema(broken, rules)
        except AssertionError:
            continue
        raise AssertionError("a broken log was accepted")


def need(thing, *names):
    for name in names:
        assert name in thing, f"{name} is missing in {json.dumps(thing)[:200]}"


def check_location(location, bases):
    need(location, "physicalLocation")
    need(location["physicalLocation"], "artifactLocation", "region")
    artifact = location["physicalLocation"]["artifactLocation"]
    uri = artifact["uri"]
    assert re.fullmatch(r"[A-Za-z0-9/:._~+,=@%-]+", uri), uri
    if "uriBaseId" in artifact:
        assert artifact["uriBaseId"] in bases and not uri.startswith(("/", "file:")), uri
    else:
        assert uri.startswith("file:///"), uri
    assert location["physicalLocation"]["region"]["startLine"] >= 1


def check_rules(rules):
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        need(rule, "id", "shortDescription", "fullDescription", "help", "defaultConfiguration")
        assert re.fullmatch(r"[a-z0-9-]+", rule["id"])
        assert rule.get("name", "").lower() != rule["id"]  # SARIF1001
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert 1 <= len(rule["properties"]["tags"]) <= MAX_TAGS
        for text in ("shortDescription", "fullDescription", "help"):
            assert rule[text]["text"]


def check_result(result, run):
    rules = run["tool"]["driver"]["rules"]
    need(result, "ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints")
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] == rules[result["ruleIndex"]]["defaultConfiguration"]["level"]
    assert result["message"]["text"]
    assert re.fullmatch(r"[0-9a-f]{16}", result["partialFingerprints"]["holdfast/v1"])
    assert 1 <= len(result["locations"]) <= MAX_LOCATIONS
    assert len(result["relatedLocations"]) <= MAX_LOCATIONS
    for location in result["locations"]:
        check_location(location, run["originalUriBaseIds"])
    flow = [place["location"] for code in result.get("codeFlows", []) for thread in code["threadFlows"]
            for place in thread["locations"]]
    assert len(flow) <= MAX_FLOW
    for suppression in result.get("suppressions", []):
        assert suppression["kind"] in ("inSource", "external")


def check_multitool(logs):
    """Microsoft's validator has neither errors nor warnings; its notes are matters of taste."""
    with tempfile.TemporaryDirectory() as folder:
        for name, log in logs.items():
            path, out = pathlib.Path(folder) / f"{name}.sarif", pathlib.Path(folder) / f"{name}.out"
            path.write_text(json.dumps(log))
            subprocess.run([os.environ["HOLDFAST_SARIF_MULTITOOL"], "validate", path, "-o", out, "--level",
                            "Error;Warning"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            results = json.loads(out.read_text())["runs"][0].get("results", [])
            assert not results, [(r["ruleId"], r["message"]) for r in results]


def check_github(log):
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    assert len(log["runs"]) == 1
    run = log["runs"][0]
    need(run, "tool", "results", "invocations", "originalUriBaseIds")
    need(run["tool"]["driver"], "name", "version", "semanticVersion", "informationUri", "rules")
    assert run["tool"]["driver"]["version"][0].isdigit()  # SARIF2005
    for base in run["originalUriBaseIds"].values():
        assert base["uri"].startswith("file:///") and base["uri"].endswith("/")
    assert run["invocations"][0]["executionSuccessful"] is True
    check_rules(run["tool"]["driver"]["rules"])
    assert len(run["results"]) <= MAX_RESULTS
    for result in run["results"]:
        check_result(result, run)


def check_sample(log):
    """What the sample holds is there."""
    run = log["runs"][0]
    assert len(run["results"]) == 7
    assert sum("suppressions" in result for result in run["results"]) == 1
    first = next(r for r in run["results"] if r["ruleId"] == "missing-flush")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "list.c", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 6, "startColumn": 10}
    assert len(first["codeFlows"]) == 2
    assert run["invocations"][0]["toolExecutionNotifications"][0]["level"] == "warning"
    assert run["tool"]["driver"]["rules"][-1]["id"] == "pmdk-redundant-log"


def check_crash(log):
    """A crash names both stores and says what recovery did."""
    run = log["runs"][0]
    assert len(run["results"]) == 4
    result = next(r for r in run["results"] if r["ruleId"] == "ordering")
    assert "Recovery failed with exit status 3." in result["message"]["text"]
    texts = [place["message"]["text"] for place in result["relatedLocations"]]
    assert texts[0] == "lost" and texts[1].startswith("persistent: "), texts
    assert [flow["message"]["text"] for flow in result["codeFlows"]] == ["call path", "what happened to the data"]
    flow = [place["location"] for place in result["codeFlows"][1]["threadFlows"][0]["locations"]]
    assert flow[-1]["message"]["text"].startswith("crash: recovery failed"), flow[-1]
    assert all("physicalLocation" in place for place in flow) and len(flow) == len(texts) + 1
    assert result["properties"]["verdict"] == "failed" and result["properties"]["states"] == 14
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["level"] for note in notes] == ["note", "note"] and "points 120" in notes[0]["message"]["text"]


def check_limit(log):
    assert len(log["runs"][0]["results"]) == MAX_RESULTS
    notes = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert "left out" in notes[0]["message"]["text"]
    levels = [result["level"] for result in log["runs"][0]["results"]]
    assert levels.index("note") > levels.index("error") and levels[0] == "error"


def make(program, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "sarif", "out.sarif", *arguments], cwd=folder, check=True)
        return json.loads((pathlib.Path(folder) / "out.sarif").read_text())


def main():
    program, cache = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    logs = {"sample": make(program), "empty": make(program, "empty"), "crash": make(program, "crash"),
            "huge": make(program, "26000")}
    rules = schema(cache)
    cases = [(f"{name} is what GitHub accepts", check_github, (log,)) for name, log in logs.items()]
    cases += [(f"{name} validates against the schema", check_schema, (logs[name], rules))
              for name in ("sample", "empty", "crash")]
    cases += [("the schema is strict", check_schema_is_strict, (logs["sample"], rules))]
    cases += [("the sample's findings are there", check_sample, (logs["sample"],)),
              ("the crashes are there", check_crash, (logs["crash"],)),
              ("results are cut, worst first", check_limit, (logs["huge"],))]
    if os.environ.get("HOLDFAST_SARIF_MULTITOOL"):
        cases += [("the validator has no warning", check_multitool, ({n: logs[n] for n in ("sample", "crash")},))]
    failed = 0
    print(f"1..{len(cases)}")
    for number, (name, check, arguments) in enumerate(cases, 1):
        if rules in arguments and isinstance(rules, str):
            print(f"ok {number} - {name} # SKIP {rules}")
            continue
        try:
            check(*arguments)
            print(f"ok {number} - {name}")
        except (AssertionError, LookupError) as error:
            failed += 1
            print(f"not ok {number} - {name}\n# {error!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""The scoreboard as text: tables, and lists of what should not be."""
import collections

import judge

VERDICTS = ("found", "elsewhere", "missed", "not available")
INFORMATION = {"Missed", "Named by crash, but as another class"}  # all other sections should be empty


class Board:
    """bugs, traps and cleans are results; each has `answers`, what the tool said, by part."""

    def __init__(self, tool, bugs, traps, cleans, regressions):
        self.tool, self.bugs, self.traps, self.cleans, self.regressions = tool, bugs, traps, cleans, regressions
        self.everyone = bugs + traps + cleans

    def count(self, results, what):
        return sum(a["counts"].get(what, 0) for r in results for a in r["answers"].values())

    def seconds(self):
        total = collections.Counter()
        for r in self.everyone:
            for answer in r["answers"].values():
                total.update(answer["seconds"])
        return dict(sorted(total.items()))

    def replays(self, analysis):
        """(name, finding) of those that were replayed."""
        return [(r["id"], f) for r in self.bugs for a in r["answers"].values() for f in a["findings"]
                if f["analysis"] == analysis and "replay" in f]

    # ---- tables ----

    def by_class(self):
        """Rows of (class, labelled, found, elsewhere, missed, not available)."""
        rows = collections.defaultdict(collections.Counter)
        for r in self.bugs:
            rows[r["class"]]["labelled"] += 1
            rows[r["class"]][r["verdict"]] += 1
        total = sum(rows.values(), collections.Counter())
        return [(name, *(row[k] for k in ("labelled", *VERDICTS))) for name, row in [*sorted(rows.items()), ("all", total)]]

    def by_analysis(self):
        for analysis in judge.ANALYSES:
            mine = [r["verdicts"][analysis] for r in self.bugs if analysis in r["able"]]
            if analysis in self.tool.analyses:
                yield (analysis, len(mine), *(mine.count(v) for v in VERDICTS[:3]))
            else:
                yield (analysis, len(mine), "not available", "", "")

    # ---- what only one analysis has to say for itself ----

    def crash_text(self):
        extra = [r["extra"] for r in self.bugs if "extra" in r]
        agrees = [r["class_agrees"] for r in self.bugs if "class_agrees" in r]
        replays = [f["replay"] for _, f in self.replays("crash")]
        correct = [a for r in self.traps + self.cleans for a in r["answers"].values() if "states" in a["counts"]]
        return (f"Crash: the class agrees with the label's for {sum(agrees)} of {len(agrees)} bugs whose statement is named; "
                f"of {len(extra)} more that need certain operations, which their op files have, {sum(extra)} are found. "
                f"Replayed: {sum(r['tries'] for r in replays)}, of which {sum(len(r['failures']) for r in replays)} did "
                f"not fail again. Campaigns on correct programs: {len(correct)}, {sum(a['cut'] for a in correct)} of them "
                f"cut short by the budget. Crash states tried: {self.count(self.bugs, 'states')} on bugs, "
                f"{self.count(self.traps + self.cleans, 'states')} on correct programs.")

    def output_text(self):
        mine = [r for r in self.bugs if "output" in r["verdicts"]]
        correct = [a for r in self.traps + self.cleans for a in r["answers"].values() if "compared" in a["counts"]]
        parts = collections.defaultdict(collections.Counter)
        for r in mine:
            parts[r["set"]].update(all=1, found=int(r["verdicts"]["output"] == "found"))
        sets = ", ".join(f"{name} {n['found']} of {n['all']}" for name, n in sorted(parts.items()))
        return (f"Output, with no checker: {sets}. Campaigns on correct programs: {len(correct)}, {sum(a['cut'] for a in correct)} of them "
                f"cut short by the budget. Crash states compared: {self.count(self.bugs, 'compared')} on bugs, "
                f"{self.count(self.traps + self.cleans, 'compared')} on correct programs.")

    def input_text(self):
        mine = [r for r in self.bugs if "input" in r["answers"]]
        untried = sum(r["verdicts"].get("input") == "not tried" for r in self.bugs)
        paths = sorted(r["after"] for r in mine if r["after"] is not None)
        correct = [a for r in self.traps + self.cleans for a in r["answers"].values() if "paths" in a["counts"]]
        return (f"Input: {sum(r['verdicts']['input'] == 'found' for r in mine)} of {len(mine)} bugs found ({untried} more were not "
                f"tried), after {paths[len(paths) // 2] if paths else 0} paths (median), {sum(paths)} in all. Correct programs: "
                f"{len(correct)}, {sum(a['counts']['paths'] for a in correct)} paths.")

    # ---- lists ----

    def errors(self, recording):
        return [f"- {r['name']} ({part}): {e['analysis']}: {e['message']}" for r in self.everyone for part, a in r["answers"].items()
                for e in a["errors"] if (e["analysis"] == "record") == recording]

    def misses(self):
        for r in self.bugs:
            for analysis, verdict in r["verdicts"].items():
                if verdict in ("missed", "elsewhere"):
                    said = ", ".join(f"{f['kind']} {f['place']}" for f in r["said"][analysis]) or "nothing"
                    yield f"- {r['id']} ({r['class']}, {r['place']}): {analysis}: {verdict}; reported: {said}"

    def sections(self):
        return {
            "False positives": [f"- {r['name']} ({f['part']}): {text(f)}" for r in self.traps + self.cleans for f in r["false"]],
            "Missed": list(self.misses()),
            "Recordings that are not true": self.errors(True),
            "Could not be run": self.errors(False),
            "Findings that do not replay": [f"- {name}, {f.get('id', '')}: {failure}" for a in ("crash", "output", "input")
                                            for name, f in self.replays(a) for failure in f["replay"]["failures"]],
            "Seeds that show the bug already": [f"- {r['id']}" for r in self.bugs if r["seed_shows"]],
            "Crash findings on bugs that no crash should show": [
                f"- {r['id']}{', at the marked statement' if f['at_marker'] else ''}: {text(f)}"
                for r in self.bugs for f in r["unexpected"]],
            "Crash findings of no class that a crash has": [f"- {r['id']}: {text(f)}" for r in self.bugs for f in r["odd"]],
            "Found before, missed now": [f"- {r}" for r in self.regressions],
            "Named by crash, but as another class": [f"- {r['id']} ({r['class']}): {', '.join(r['crash_kinds'])}"
                                                     for r in self.bugs if r.get("class_agrees") is False],
        }

    def report(self, elapsed):
        """The text, how many false positives there are, and how much should not be."""
        said = self.sections()
        parts = [f"# Scoreboard of {self.tool.name}",
                 markdown(("class", "labelled", "found at the statement", "elsewhere only", "missed", "not available"), self.by_class()),
                 markdown(("analysis", "labelled for it", "found", "elsewhere", "missed"), self.by_analysis()),
                 f"Clean programs: {len(self.cleans)}, traps: {len(self.traps)}, false positives: {len(said['False positives'])}. "
                 f"Images rebuilt from recordings and compared: {self.count(self.everyone, 'images')}."]
        if "crash" in self.tool.analyses:
            parts.append(self.crash_text())
        if "output" in self.tool.analyses:
            parts.append(self.output_text())
        if "input" in self.tool.analyses:
            parts.append(self.input_text())
        parts.append("Seconds: " + ", ".join([*(f"{k} {v:.0f}" for k, v in self.seconds().items()), elapsed]) + ".")
        for title, lines in said.items():
            if lines:
                parts += [f"## {title}", "\n".join(lines)]
        bad = sum(len(lines) for title, lines in said.items() if title not in INFORMATION)
        return "\n\n".join(parts) + "\n", len(said["False positives"]), bad


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def text(finding):
    return f"{finding['kind']} ({finding['level']}) at {finding['place']}: {finding['message']}"

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults planted into private copies of Meta's kernels (mutation.py), and what `turnstile check` says of each.

  mutants.py check --work DIR [--turnstile PATH] [--only TEXT]   judges what is not judged yet; results are kept
  mutants.py table --work DIR [--doc]                            the results as a table for people (Markdown)

DIR holds the captures of suite.py; the copies and the results go to DIR/mutants. Which kernels, how small, and why a
fault that is not found does no harm: mutants.toml. Exit code 1: a fault was missed, or a kernel is not there.
"""

import argparse
import collections
import hashlib
import json
import os
import re
import sys
import time
import tomllib

import mutation
import suite

HERE = os.path.dirname(os.path.abspath(__file__))


def kernels():
    with open(os.path.join(HERE, "mutants.toml"), "rb") as file:
        return tomllib.load(file)


def smaller(text, kernel):
    """The captured launch file with the grid and the scalars of the table."""
    text, count = re.subn(r"(?m)^grid = .*$", f"grid = {kernel['grid']}", text)
    if count != 1:
        raise SystemExit(f"mutants.py: {kernel['launch']}: {count} grids")
    for name, value in kernel.get("set", {}).items():
        text, count = re.subn(rf"(?m)^(\[\[params\]\]  # {re.escape(name)}\n[us](?:32|64) = ).*$", rf"\g<1>{value}", text)
        if count != 1:
            raise SystemExit(f"mutants.py: {kernel['launch']}: {count} scalar parameters {name}")
    return text


def prepared(work, kernel):
    """A folder with the small launch of this kernel, its fair PTX and what else the launch names."""
    source = os.path.join(work, kernel["launch"])
    if not os.path.isdir(source):
        raise SystemExit(f"mutants.py: no capture {source}: suite.py capture makes it")
    folder = os.path.join(work, "mutants", kernel["launch"].replace("/", "_"))
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(source):
        place = os.path.join(folder, name)
        if os.path.lexists(place):
            os.unlink(place)
        if name != "launch.toml":
            os.symlink(os.path.join(os.path.realpath(source), name), place)
    with open(os.path.join(source, "launch.toml"), encoding="utf-8") as file:
        text = smaller(file.read(), kernel)
    with open(os.path.join(folder, "launch.toml"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(folder, tomllib.loads(text)["kernel"]), encoding="utf-8") as file:
        return folder, file.read()


def place(where):
    return f"{os.path.basename(where.get('file', ''))}:{where.get('line', '')}" if where and where.get("line") else ""


def judged(turnstile, folder, text, options, timeout):
    """What a check of the launch in `folder` with this PTX says: verdict, findings and reasons."""
    path = os.path.join(folder, "mutant.ptx")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    command = [turnstile, "check", os.path.join(folder, "launch.toml"), "--ptx", path, "--json", *options]
    code, out, err, seconds, _ = suite.run_measured(command, timeout)
    os.unlink(path)
    answer = {"verdict": "timeout" if code is None else "error", "findings": [], "reasons": [], "seconds": round(seconds, 2)}
    try:
        document = json.loads(out)
        launch = document["launches"][0]
    except (ValueError, KeyError, IndexError):
        answer["reasons"] = [(err.strip().splitlines() or out.strip().splitlines() or [""])[-1][:300]]
        return answer
    answer["verdict"] = launch["verdict"]
    answer["reasons"] = [f"{reason['text']} {place(reason.get('where'))}".strip() for reason in launch["inconclusive"]]
    answer["findings"] = [
        {"class": found["class"], "severity": found["severity"], "rule": found["rule"], "subject": found["subject"],
         "message": found["message"], "where": place(found["where"]),
         "sides": [place(side.get("where")) for side in found["sides"]]}
        for found in launch["findings"]]  # fmt: skip
    return answer


def identity(*texts):
    made = hashlib.sha256()
    for text in texts:
        made.update(hashlib.sha256(text.encode()).digest())
    return made.hexdigest()


class Results:
    """What was judged already, by the hash of everything that the verdict depends on."""

    def __init__(self, work):
        self.path = os.path.join(work, "mutants", "results.json")
        try:
            with open(self.path, encoding="utf-8") as file:
                self.known = json.load(file)
        except (OSError, ValueError):
            self.known = {}

    def get(self, key, timeout, make):
        if key not in self.known or self.known[key]["verdict"] == "timeout" and self.known[key]["seconds"] < timeout - 1:
            self.known[key] = make()
            with open(self.path + ".partial", "w", encoding="utf-8") as file:
                json.dump(self.known, file, indent=1, sort_keys=True)
            os.replace(self.path + ".partial", self.path)
        return self.known[key]


def news(answer, fair, severity):
    """Findings that the fair kernel does not have."""
    old = {(f["class"], f["rule"], f["where"]) for f in fair["findings"] if f["severity"] == severity}
    return [f for f in answer["findings"] if f["severity"] == severity and (f["class"], f["rule"], f["where"]) not in old]


def outcome(site, answer, fair, strict, fair_strict, reason):
    """(outcome, class, rule, line, text) of one mutant."""
    errors = news(answer, fair, "error")
    if errors:
        # Of several hangs the one at an mbarrier: warps that Triton keeps at its dispatch barrier wait there for those that hang.
        usual = [f for f in errors if f["class"] in mutation.RULES[site.rule].classes]
        first = (sorted(usual, key=lambda f: f["rule"] == "NX2") or errors)[0]
        return ("found" if usual else "found, of another class"), first["class"], first["rule"], first["where"], first["message"]
    if answer["verdict"] == "error":
        return "error", "", "", "", answer["reasons"][0]
    if answer["verdict"] in ("clean", fair["verdict"]) and strict:
        by_letter = news(strict, fair_strict, "error")
        if by_letter:
            first = by_letter[0]
            return "by --strict", first["class"], first["rule"], first["where"], first["message"]
    if answer["verdict"] == "clean":
        return ("harmless" if reason else "NOT FOUND"), "", "", "", reason or "clean"
    if answer["verdict"] == "finding" or answer["verdict"] == fair["verdict"] and answer["reasons"] == fair["reasons"]:
        return ("harmless" if reason else "NOT FOUND"), "", "", "", reason or "as the fair kernel: " + fair["verdict"]
    suspicions = [f for f in news(answer, fair, "lint") if any(f["message"][:40] in reason for reason in answer["reasons"])]
    if suspicions:
        first = next((f for f in suspicions if f["class"] in mutation.RULES[site.rule].classes), suspicions[0])
        return "named", first["class"], first["rule"], first["where"], first["message"]
    for reason in answer["reasons"]:  # "... is left to what ptxas repairs (WG1) (help: ...) file.py:7"
        if (found := re.search(r"\(([A-Z]+\d+)\)(?: \(help.*\))? (\S+:\d+)$", reason)) and reason not in fair["reasons"]:
            return "named", "", found[1], found[2], reason
    return "undecided", "", "", "", "; ".join(answer["reasons"][:2]) or f"{answer['verdict']}, over {answer['seconds']:.0f} s"


def reason_of(table, kernel, site):
    """Why this fault does no harm, if mutants.toml says so."""
    for entry in table.get("harmless", []):
        if kernel["launch"] in entry["launches"] and site.rule == entry["rule"] and site.source in entry["sources"] \
                and entry.get("what", "") in site.what:  # fmt: skip
            return entry["because"]
    return ""


def rows(arguments, progress):
    table = kernels()
    binary = suite.digest(arguments.turnstile) if arguments.turnstile else ""
    results = Results(arguments.work)
    wanted = [kernel for kernel in table["kernel"] if arguments.only in kernel["launch"]]
    begin, number = time.monotonic(), 0
    for at, kernel in enumerate(wanted):
        folder, text = prepared(arguments.work, kernel)
        with open(os.path.join(folder, "launch.toml"), encoding="utf-8") as file:
            launch = file.read()

        def ask(ptx, *options, folder=folder, launch=launch):
            key = identity(binary, launch, ptx, *options)
            return results.get(key, arguments.timeout, lambda: judged(arguments.turnstile, folder, ptx, options, arguments.timeout))

        fair, fair_strict = ask(text), ask(text, "--strict")
        if progress:
            progress(f"[{at + 1}/{len(wanted)}] {kernel['launch']}: fair {fair['verdict']} in {fair['seconds']} s "
                     f"{(fair['reasons'] or [''])[0][:120]}")  # fmt: skip
        for site in mutation.chosen(text, kernel["launch"], kernel.get("most", arguments.most)):
            mutant = mutation.planted(text, site)
            answer = ask(mutant)
            strict = None
            if not news(answer, fair, "error") and answer["verdict"] != "error":
                strict = ask(mutant, "--strict")
            number += 1
            one = outcome(site, answer, fair, strict, fair_strict, reason_of(table, kernel, site))
            if progress:
                progress(f"  {number} {time.monotonic() - begin:.0f} s {site.rule} {site.source} ptx:{site.line} {site.what}: "
                         f"{' '.join(one)[:170]}")  # fmt: skip
            yield kernel, site, fair, answer, one


def check(arguments):
    counts = collections.Counter(one[0] for *_, one in rows(arguments, suite.say))
    suite.say(f"{sum(counts.values())} mutants: " + ", ".join(f"{count} {word}" for word, count in counts.most_common()))
    return 1 if counts["NOT FOUND"] or counts["error"] else 0


PREFACE = """## Faults planted into private copies

`tests/tlx/mutants.py` (the end of `./run tlx`) plants one fault at a time into the PTX of these kernels, at launches made small enough that every CTA is executed (`tests/tlx/mutants.toml`), and checks the result:

{rules}

*found*: an error that the fair kernel does not have, with its class, rule and line of the Python source. *by --strict*: the default policies take the rule as contested and show it as advice. *harmless*: every schedule of the
mutant was decided and none goes wrong; the sentence says why. *named*: not decided, and the condition that the fault breaks is shown as a suspicion, at the line given. *undecided*: not decided for another reason, which is given.
*NOT FOUND*: nobody has said yet why that is right.
"""


def table(arguments):
    lines = ["| kernel | fault | at | verdict | class, rule | line named | s |", "|---|---|---|---|---|---|---|"]
    counts, by_kernel = collections.Counter(), {}
    for kernel, site, fair, answer, (word, kind, rule, where, text) in rows(arguments, None):
        counts[word] += 1
        by_kernel.setdefault(kernel["launch"], (fair["verdict"], collections.Counter()))[1][word] += 1
        said = word + (f": {text}" if word in ("harmless", "undecided", "NOT FOUND", "error") else "")
        lines.append("| " + " | ".join(suite.cell(part) for part in (
            kernel["launch"], f"{mutation.RULES[site.rule].says} (`{site.what}`)", site.source, said, f"{kind} {rule}".strip(), where,
            answer["seconds"])) + " |")  # fmt: skip
    if arguments.doc:
        print(PREFACE.format(rules="\n".join(f"* {rule.says}: {rule.where}" for rule in mutation.RULES.values())))
    words = [word for word, _ in counts.most_common()]
    print(f"{sum(counts.values())} mutants of {len(by_kernel)} kernels: " + ", ".join(f"{counts[word]} {word}" for word in words) + ".\n")
    print("| kernel | without a fault | " + " | ".join(words) + " |\n|---|---|" + "---|" * len(words))
    for name, (fair, one) in by_kernel.items():
        print(f"| {name} | {fair} | " + " | ".join(str(one[word] or "") for word in words) + " |")
    print("\n" + "\n".join(lines))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("check", "table"))
    parser.add_argument("--work", required=True)
    parser.add_argument("--turnstile", default=os.path.join(suite.ROOT, "build", "turnstile"))
    parser.add_argument("--doc", action="store_true", help="with the text of docs/tlx-suite.md around it")
    parser.add_argument("--only", default="", help="launches whose name contains this")
    parser.add_argument("--most", type=int, default=2, help="sites of each rule in each kernel")
    parser.add_argument("--timeout", type=int, default=40)
    arguments = parser.parse_args()
    return {"check": check, "table": table}[arguments.verb](arguments)


if __name__ == "__main__":
    sys.exit(main())

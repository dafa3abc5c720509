# SPDX-License-Identifier: Apache-2.0
"""Faults planted into a PTX text by rule: where each rule applies, and the text with one of them in it.

A site is one statement (or one wait loop) with the line of the source that it came from. Nothing here knows a kernel.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Callable

SEED = 5  # of the choice of sites; another seed is another set of mutants


@dataclass(frozen=True)
class Site:
    rule: str
    line: int  # of the PTX, from 1
    what: str  # the instruction, without its operands
    source: str  # file.py:line of the statement


@dataclass(frozen=True)
class Rule:
    name: str
    says: str
    where: str  # which instructions it takes
    pattern: re.Pattern  # finds the statement in its line
    edit: Callable  # (lines, index, match) -> the changed lines, as {index: text}
    classes: tuple  # of findings that the fault may well have; another class is looked at by hand


def _gone(lines, index, _):
    return {index: ""}


def _wait_gone(lines, index, match):
    """One wait of a mbarrier is a loop: the try and the branch back go, the label stays."""
    if "try_wait" not in match[0]:
        return {index: ""}
    branch = next(i for i in range(index + 1, index + 4) if " bra" in lines[i])
    return {index: "", branch: ""}


def _parity_flipped(lines, index, match):
    """The other parity is made before the label of the loop: a loop that polls does nothing else."""
    label = next(i for i in range(index - 1, index - 6, -1) if lines[i].strip().endswith(":"))
    return {label: f"\t.reg .b32 turned;\n\txor.b32 turned, {match[3]}, 1;\n{lines[label]}", index: f"{match[1]}{match[2]}turned;"}


def _halved(lines, index, match):
    return {index: f"{match[1]}{int(match[2]) // 2};"}


def _one_more(lines, index, match):
    return {index: f"{match[1]}{int(match[2]) + 1};"}


WAITED = ("race", "hang", "barrier_protocol", "overtaken", "stale", "lifetime", "proxy_fence")
RULES = {
    rule.name: rule
    for rule in (
        Rule("wait", "drop one wait", "the loop around a `mbarrier.try_wait`, or one `cp.async.wait_group`, `cp.async.bulk.wait_group`, `wgmma.wait_group`",
             re.compile(r"\b(mbarrier\.try_wait|cp\.async\.wait_group|cp\.async\.bulk\.wait_group|wgmma\.wait_group)[\w.:]*"),
             _wait_gone, (*WAITED, "register_hazard")),
        Rule("parity", "flip the parity of one wait", "of a `mbarrier.try_wait`", re.compile(r"^(\s*)(mbarrier\.try_wait[^;]*,\s*)([%\w]+)\s*;"),
             _parity_flipped, WAITED),
        Rule("bytes", "halve one expected byte count", "of a `mbarrier.arrive.expect_tx`", re.compile(r"^(.*\bmbarrier\.arrive\.expect_tx[^;]*,\s*)(\d+)\s*;"),
             _halved, ("barrier_protocol", "race", "hang", "overtaken")),
        Rule("fence", "drop one fence", "`fence.proxy`, `fence.mbarrier_init`, `tcgen05.fence` or `wgmma.fence`",
             re.compile(r"(?<![\w.])(fence\.proxy|fence\.mbarrier_init|tcgen05\.fence|wgmma\.fence)[\w.:]*"),
             _gone, ("proxy_fence", "race", "register_hazard")),
        Rule("arrival", "drop one arrival", "`mbarrier.arrive` or `tcgen05.commit`",
             re.compile(r"\b(mbarrier\.arrive(?!\.expect_tx)|tcgen05\.commit)[\w.:]*"),
             _gone, ("hang", "race", "overtaken", "barrier_protocol")),
        Rule("count", "expect one arrival more", "the count of a `mbarrier.init`, plus 1", re.compile(r"^(.*\bmbarrier\.init\.[^;]*,\s*)(\d+)\s*;"),
             _one_more, ("hang", "barrier_protocol", "race", "overtaken")),
    )
}  # fmt: skip

LOC = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)\s+\d+.*?//\s*([\w.-]+\.py):(\d+)")


def sites(text):
    """Every site of every rule, in the order of the text."""
    source, inside = "", False
    for index, line in enumerate(text.split("\n")):
        # LLVM numbers the lines of an inline assembler text after the line of its statement: those are not lines of the source.
        if "// begin inline asm" in line or "// end inline asm" in line:
            inside = "begin" in line
        elif not inside and (found := LOC.match(line)):
            source = f"{found[2]}:{found[3]}"
        statement = line.split("//")[0]
        for rule in RULES.values():
            if found := rule.pattern.search(statement):
                what = re.search(r"(mbarrier|cp\.async|wgmma|fence|tcgen05)\.[\w.:]+", statement)[0]
                yield Site(rule.name, index + 1, what, source)


def chosen(text, name, most):
    """At most `most` sites of each rule, of different lines of the source as long as there are some."""

    def order(site):
        return hashlib.sha256(f"{SEED} {name} {site.rule} {site.line}".encode()).digest()

    kept = []
    for rule in RULES:
        rounds = {}
        for site in sorted((site for site in sites(text) if site.rule == rule), key=order):
            rounds.setdefault((site.source, site.what), []).append(site)
        turns = [(turn, order(site), site) for group in rounds.values() for turn, site in enumerate(group)]
        kept += [site for _, _, site in sorted(turns, key=lambda turn: turn[:2])[:most]]
    return sorted(kept, key=lambda site: (list(RULES).index(site.rule), site.line))


def planted(text, site):
    """The text with the fault of this site. Lines keep their numbers, where the edit does not add any."""
    lines = text.split("\n")
    rule, index = RULES[site.rule], site.line - 1
    match = rule.pattern.search(lines[index].split("//")[0])
    for at, new in rule.edit(lines, index, match).items():
        lines[at] = new
    return "\n".join(lines)

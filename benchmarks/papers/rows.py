# SPDX-License-Identifier: BSD-2-Clause
"""rows.py: the rows of benchmarks/papers/paper-*.ini, and figures from what programs print.

A section is a row: a table, a figure or a claim of the paper. Its keys:

  what, section, setting  what the paper shows, where, and how it was measured
  command               a line for each run on a GPU
  host                  the same on a machine without one; without the key the row needs a GPU
  needs                 of gpu (also for `host`), gpus (two or more, where there is a GPU), cudss, mkl, magma, matrices,
                        table, single, complex, ncu: what the row cannot do without
  context, read         regular expressions, one a line, with named groups: a line that `context` matches gives values
                        to the records after it, one that `read` matches is a record. The first line is "$ " and the
                        command. `read = csv`: the files that programs write to {csv}
  recorded              files of benchmarks/results with the same output, for machines on which the row does not run
  where                 what holds for every record that a figure looks at: name=value, separated by blanks,
                        _ for a blank in a value
  figures               one a line: [for NAME in VALUES:] label | the paper's | ours | the peer's | what is better
  peer                  who the peer is, the best of today; or "none: " and why
  differs               what is not as in the paper
  picture               axes of a picture, and which lines of `figures`, from 1: x | y | 1 2 [| log]

In commands {gpus} and {cores} are their numbers, {cudss}, {mkl} and {matrices} are $SPIKE_CUDSS, $SPIKE_MKL and
$SPIKE_MATRICES, {table} is those of paper-003's matrices that are in $SPIKE_MATRICES, {csv} a file of the run; [in
brackets] stands what is left out where its word is not known. A command with {each} runs several times: with 1, 2, 4
and so on up to the number of GPUs, and with all of them; on a host with 1 and 2 in its place.

A line that ends in a backslash goes on in the next one.

A figure is an expression: ms(solver='ours', m=4) is column `ms` of the first record with these values; least() and
most() of all such records are least('ms', m=4). With a loop the paper's values are separated by blanks, one for each
turn; `place` is cuda or host, `cores` and `gpus` are their numbers. A value in parentheses, solver=('BLAS', 'MKL'), is
any of these, solver=None any at all. What is better: more or less; "info more" and "info less": the same beside the
peer, while the paper's figure is no bar; info: neither, without a peer.
"""
import configparser
import csv
import math
import pathlib
import re
import shlex

KEYS = {"what", "section", "setting", "command", "host", "needs", "context", "read", "recorded", "where", "figures",
        "peer", "differs", "picture"}
NEEDS = {"gpu", "gpus", "cudss", "mkl", "magma", "matrices", "table", "single", "complex", "ncu"}
WORDS = {"gpus", "cores", "each", "cudss", "mkl", "matrices", "table", "csv"}


class Missing(Exception):
    """No record has what a figure asks for."""


class Late(Missing):
    """There was no time for a command."""


class Fault(Exception):
    """A table is wrong."""


def lines(text):
    """Lines of a key; one that ends in a backslash goes on in the next."""
    return [line.strip() for line in (text or "").replace("\\\n", "").splitlines() if line.strip()]


def read_table(path):
    """(heading, {row: section}) of one file."""
    ini = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    with open(path) as f:
        ini.read_file(f)
    if "paper" not in ini:
        raise Fault(f"{path}: no section [paper]")
    rows = {name: dict(ini[name]) for name in ini.sections() if name != "paper"}
    for name, row in rows.items():
        unknown = set(row) - KEYS
        if unknown:
            raise Fault(f"{path}: [{name}] has the unknown key {sorted(unknown)[0]}")
        for key in ("what", "section", "setting", "command", "figures", "peer", "differs"):
            if not row.get(key, "").strip():
                raise Fault(f"{path}: [{name}] has no {key}")
        if set(row.get("needs", "").split()) - NEEDS:
            raise Fault(f"{path}: [{name}] needs what nobody knows: {row['needs']}")
        row["figure list"] = [Figure(f"{path}: [{name}]", line) for line in lines(row["figures"])]
        for key in ("context", "read"):
            for expression in lines(row.get(key)):
                if expression == "csv":
                    continue
                try:
                    re.compile(expression)
                except re.error as e:
                    raise Fault(f"{path}: [{name}] {key}: {e}: {expression}") from e
    return dict(ini["paper"]), rows


def words_of(command):
    """The words between braces."""
    return set(re.findall(r"\{(\w+)\}", command))


def repeated(command, counts):
    """The commands of a line: with {each} one for each of the counts."""
    return [command.replace("{each}", str(n)) for n in counts] if "each" in words_of(command) else [command]


def expand(command, known):
    """Arguments of a command, with the words that are known."""

    def optional(match):
        return match.group(1) if words_of(match.group(1)) <= set(known) else ""

    command = re.sub(r"\[([^\]]*)\]", optional, command)
    unknown = words_of(command) - set(known)
    if unknown:
        raise Missing("no " + ", ".join(sorted(unknown)))
    for word, value in known.items():
        command = command.replace("{" + word + "}", str(value))
    return shlex.split(command)


class Figure:
    """A line of `figures`."""

    def __init__(self, place, line):
        parts = [part.strip() for part in re.split(r"\s\|\s", " " + line + " ")]
        if len(parts) != 5:
            raise Fault(f"{place} wants five parts between |: {line}")
        loop = re.match(r"for (\w+) in ([^:]*):\s*(.*)", parts[0])
        self.loop, values, self.label = loop.groups() if loop else (None, "", parts[0])
        self.values = values.split() if loop else [None]
        self.paper = parts[1].split() if loop else [parts[1]]
        if len(self.paper) == 1:
            self.paper *= len(self.values)
        if len(self.paper) != len(self.values):
            raise Fault(f"{place} has {len(self.values)} turns and {len(self.paper)} figures: {line}")
        self.ours, self.peer, self.better = parts[2:]
        if self.better not in ("more", "less", "info", "info more", "info less"):
            raise Fault(f"{place} ends in neither more, less nor info: {line}")
        if self.better == "info" and self.peer != "-":
            raise Fault(f"{place} has a peer, and ends in neither info more nor info less: {line}")
        for expression in (self.ours, self.peer):
            try:
                compile(expression, place, "eval") if expression != "-" else None
            except SyntaxError as e:
                raise Fault(f"{place}: {expression}: {e}") from e

    def turns(self, records, where, known):
        """(turn, label, paper, ours, peer) of each turn; None: there is no such number"""
        for value, paper in zip(self.values, self.paper):
            name = self.label if value is None else self.label.replace("{" + self.loop + "}", value)
            turn = known if value is None else {**known, self.loop: value}
            yield (value, name, number(paper), evaluate(self.ours, records, where, turn),
                   evaluate(self.peer, records, where, turn))


def number(text):
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def same(a, b):
    x, y = number(a), number(b)
    return x == y if x is not None and y is not None else str(a) == str(b)


def fits(value, wanted):
    """wanted: a value, any of several in parentheses, or None for any at all"""
    return wanted is None or any(same(value, one) for one in (wanted if isinstance(wanted, tuple) else (wanted,)))


class Columns(dict):
    """Names in an expression: columns of the records as functions."""

    def __init__(self, records, where, turn):
        super().__init__(turn)
        self.records, self.where = records, where
        self.update(least=lambda column, **w: min(self.numbers(column, w)),
                    most=lambda column, **w: max(self.numbers(column, w)),
                    min=min, max=max, float=float, sqrt=math.sqrt)

    def all(self, column, where):
        """The column's texts in all records that fit."""
        where = {**self.where, **where}
        return [r[column] for r in self.records
                if column in r and all(k in r and fits(r[k], v) for k, v in where.items())]

    def numbers(self, column, where):
        found = [f for f in map(number, self.all(column, where)) if f is not None]
        if not found:
            raise Missing(column)
        return found

    def first(self, column, where):
        found = self.all(column, where)
        value = number(found[0]) if found else None
        if value is None:  # also where a program printed "-"
            raise Missing(column)
        return value

    def __missing__(self, column):
        return lambda **where: self.first(column, where)


def evaluate(expression, records, where, turn):
    if expression == "-":
        return None
    try:
        return float(eval(expression, {"__builtins__": {}}, Columns(records, where, turn)))
    except (Missing, ZeroDivisionError):
        return None


def conditions(row, **known):
    text = row.get("where", "")
    for word, value in known.items():
        text = text.replace("{" + word + "}", value)
    return {k: v.replace("_", " ") for k, v in (pair.split("=", 1) for pair in text.split())}


def read_output(row, text):
    """Records of what a program printed."""
    contexts = [re.compile(e) for e in lines(row.get("context"))]
    readers = [re.compile(e) for e in lines(row.get("read")) if e != "csv"]
    records, context = [], {}
    for line in text.splitlines():
        for expression in contexts:
            match = expression.search(line)
            if match:
                context.update({k: v for k, v in match.groupdict().items() if v is not None})
        for expression in readers:
            match = expression.search(line)
            if match:
                records.append({**context, **{k: v for k, v in match.groupdict().items() if v is not None}})
                break
    return records


def newest(row, text):
    """Records of a file of results, those of its newest day first: days stand in lines that begin with #."""
    blocks, fresh = [["", ""]], True
    for line in text.splitlines():
        if line.startswith("#") and not fresh:
            blocks.append([blocks[-1][0], ""])
        fresh = line.startswith("#")
        days = re.findall(r"20\d\d-\d\d-\d\d", line) if fresh else []
        blocks[-1] = [max(days) if days else blocks[-1][0], blocks[-1][1] + line + "\n"]
    blocks.sort(key=lambda block: block[0], reverse=True)
    return [record for _, block in blocks for record in read_output(row, block)]


def read_csv(path):
    with open(path) as f:
        return csv_records(f)


def csv_records(lines_of_file):
    return list(csv.DictReader(line for line in lines_of_file if not line.startswith("#")))


CSV = "---- csv\n"  # in outputs: between what a program printed and the file that it wrote


class Outputs:
    """The outputs of papers in a folder, as `paper` writes them: done[command] is (text, records, status)."""

    def __init__(self, folder):
        self.folder, self.gpus = pathlib.Path(folder), 0
        for path in sorted(self.folder.glob("paper-*-output.txt")):
            found = re.match(r"here: (\d+) x ", path.read_text())
            self.gpus = max(self.gpus, int(found.group(1)) if found else 0)

    def read(self, name):
        """All outputs of this paper: those with a GPU where there are some."""
        self.done, self.here, self.text = {}, [], ""
        for path in sorted(self.folder.glob(f"{name}*-output.txt")):
            head, _, text = path.read_text().partition("\n====")
            if bool(re.match(r"here: \d+ x ", head)) != bool(self.gpus):
                continue
            self.here += [line for line in head.strip().splitlines() if line not in self.here]
            self.text += "\n====" + text
            for block in re.split(r"^(?=\$ |==== )", text, flags=re.M):
                self.block(block)
        if not self.done:
            raise Fault(f"no output of {name} in {self.folder}")

    def block(self, block):
        first, _, text = block.partition("\n")
        if not first.startswith("$ ") or text.startswith(("as above\n", "not run: ")):
            return
        text, _, table = text.partition(CSV)
        ended = re.search(r"^(?:exit status (\S+)|ended after \d+ seconds)$", text, flags=re.M)
        status = 0 if not ended else "late" if ended.group(1) is None else 1
        if status == "late" and first[2:] in self.done:
            return  # another run had the time
        self.done[first[2:]] = (text, csv_records(table.strip().splitlines()) if table else [], status)

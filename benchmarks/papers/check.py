# SPDX-License-Identifier: BSD-2-Clause
"""check.py: are the tables of papers right? paper --check prints what is not; built programs are asked for -help."""
import pathlib
import re
import subprocess

import rows as tables

# Options that PETSc reads where a program calls this function: names, or ends behind the prefix of a solver
OTHERS = {"-mat_type": "MatSetFromOptions", "-use_gpu_aware_mpi": "PetscInitialize",
          "-pc_spike_window_tol": "PCSetFromOptions", "-dm_mat_type": "DMSetFromOptions",
          "-dm_vec_type": "DMSetFromOptions", "-da_grid_x": "DMSetFromOptions", "-da_grid_y": "DMSetFromOptions",
          "-da_grid_z": "DMSetFromOptions", "_pc_type": "KSPSetFromOptions", "_ksp_rtol": "KSPSetFromOptions",
          "_ksp_type": "KSPSetFromOptions"}
TOOLS = {"ncu", "python3", "mpiexec"}  # their options are their own
OPTIONAL = {"idrmagma"}  # built only where MAGMA is
FUNCTIONS = {"least", "most", "min", "max", "float", "sqrt"}


def sources(top, name):
    """The text of a program's sources, and of the headers of benchmarks/common in them; '' where there is none."""
    for folder, pattern in ((top / "benchmarks", f"{name}.c"), (top / "benchmarks" / name, "**/*.[ch]"),
                            (top / "tutorials", f"{name}.c"), (top / "benchmarks", name)):
        files = sorted(folder.glob(pattern)) if folder.is_dir() and "/" not in name else []
        text = "".join(file.read_text() for file in files)
        seen, todo = set(), re.findall(r'#include "(?:\.\./)*(?:common/)?(\w+\.h)"', text)
        while todo:
            header = top / "benchmarks" / "common" / todo.pop()
            if header not in seen and header.is_file():
                seen.add(header)
                text += header.read_text()
                todo += re.findall(r'#include "(\w+\.h)"', header.read_text())
        if text:
            return text
    return ""


def invocations(command):
    """(program, options) of a command: of the program itself where something runs it."""
    known = {word: word for word in tables.WORDS}
    words = tables.expand(command, known)
    program, options = None, []
    for k in range(len(words)):
        if words[k] in TOOLS:
            program, options = words[k], []
        elif program in TOOLS and not words[k].startswith("-") and not re.fullmatch(r"\d+|gpus|cores|each", words[k]) \
                and (words[k - 1] in TOOLS or not words[k - 1].startswith("--")):
            program, options = words[k], []
        elif program is None:
            program = words[k]
        elif re.match(r"-[A-Za-z]", words[k]):
            options.append(words[k])
    return program, options if program not in TOOLS else []


class Anything(tables.Columns):
    """Every column has every value."""

    def all(self, column, where):
        return ["1.0"]


def columns(figure):
    """Names of columns in both expressions of a figure."""
    text = figure.ours + " " + figure.peer
    called = set(re.findall(r"([A-Za-z_]\w*)\(", re.sub(r"'[^']*'", "", text))) - FUNCTIONS
    return called | set(re.findall(r"(?:least|most)\('(\w+)'", text))


def check_picture(place, row):
    """picture = x | y | numbers [| log]; a figure of a paper has one, or "none: " and why."""
    text = row.get("picture", "")
    if text.startswith("none:"):
        return
    if not text:
        if re.search(r"\[figure \d+\]", place):
            yield f"{place}: has no picture"
        return
    parts = [part.strip() for part in text.split("|")]
    if len(parts) < 3 or not re.fullmatch(r"[\d ]+", parts[2]) or parts[3:] not in ([], ["log"]) or not all(
            0 < int(n) <= len(row["figure list"]) and row["figure list"][int(n) - 1].loop for n in parts[2].split()):
        yield f"{place}: picture = x | y | numbers of figures in loops [| log], not {text}"


def check_row(place, row, top, build, helps):
    given = set()
    for key in ("context", "read"):
        for expression in tables.lines(row.get(key)):
            given |= set(re.compile(expression).groupindex) if expression != "csv" else set()
    csv = "csv" in tables.lines(row.get("read"))
    text = ""
    for key in ("command", "host"):
        for command in tables.lines(row.get(key)):
            unknown = tables.words_of(command) - tables.WORDS
            if unknown:
                yield f"{place}: nobody knows {{{sorted(unknown)[0]}}}: {command}"
                continue
            if command.count("[") != command.count("]"):
                yield f"{place}: brackets: {command}"
            if csv != ("{csv}" in command):
                yield f"{place}: {{csv}} and read = csv belong together: {command}"
            name, options = invocations(command)
            source = sources(top, name)
            if not source:
                yield f"{place}: no program {name}"
                continue
            text += source
            for option in options:
                caller = next((f for end, f in OTHERS.items() if option == end or
                               end.startswith("_") and option.endswith(end)), None)
                if caller:
                    if not re.search(rf"\b{caller}\(", source):
                        yield f"{place}: {name} does not call {caller}(), which reads {option}"
                    continue
                if f'"{option}"' not in source:
                    yield f"{place}: {name} does not read {option}"
                elif build and not name.endswith(".py"):
                    if name not in helps:
                        helps[name] = ask(build, top, name)
                    if helps[name] and not re.search(rf"{re.escape(option)}\b", helps[name]):
                        yield f"{place}: {name} -help does not have {option}"
    for figure in row["figure list"]:
        known = {"place": "host", "cores": 1, "gpus": 2}
        for value in figure.values:
            turn = known if value is None else {**known, figure.loop: value}
            label = figure.label if value is None else figure.label.replace("{" + figure.loop + "}", value)
            if len(label) > 70:
                yield f"{place}: more than 70 letters: {label}"
            for expression in (figure.ours, figure.peer):
                if expression != "-":
                    try:
                        float(eval(expression, {"__builtins__": {}}, Anything([], {}, turn)))
                    except Exception as e:  # whatever is wrong with it
                        yield f"{place}: {expression}: {e}"
        for column in sorted(columns(figure)):
            if column not in given and not (csv and re.search(rf"\b{column}\b", text)):
                yield f"{place}: nothing gives the column {column}"
    yield from check_picture(place, row)
    named = any(figure.peer != "-" for figure in row["figure list"])
    if named == row["peer"].startswith("none:"):
        yield f"{place}: peer = {row['peer'].split()[0]} ..., but {'some' if named else 'no'} figures have one"
    for word in row.get("where", "").split():
        column = word.split("=")[0]
        if column not in given and not (csv and re.search(rf"\b{column}\b", text)):
            yield f"{place}: nothing gives the column {column}"
    for name in row.get("recorded", "").split():
        path = top / "benchmarks" / "results" / name
        if not path.is_file():
            yield f"{place}: no record {name}"
            continue
        records = tables.read_csv(path) if name.endswith(".csv") else tables.read_output(row, path.read_text())
        where = tables.conditions(row, place="cuda")
        known = {"place": "cuda", "cores": 1, "gpus": 0}
        if not any(t[3] is not None for f in row["figure list"] for t in f.turns(records, where, known)):
            yield f"{place}: no figure in the record {name}"


def ask(build, top, name):
    """The help of a built program, with which it ends; '' where it is older than its source, or need not be there."""
    for folder in ("benchmarks", "tutorials"):
        path = pathlib.Path(build) / folder / name
        source = next((s for s in (top / folder / f"{name}.c", top / folder / name / f"{name}.c") if s.is_file()), None)
        if path.is_file():
            if source and source.stat().st_mtime > path.stat().st_mtime:
                return ""
            return subprocess.run([str(path), "-help", "intro"], capture_output=True, text=True, timeout=100).stdout
    return "" if name in OPTIONAL else f"{name} is not built"


def check(here, top, names, build):
    """Complaints about these papers."""
    helps = {}
    for name in names:
        path = here / f"{name}.ini"
        try:
            paper, rows = tables.read_table(path)
        except tables.Fault as e:
            yield str(e)
            continue
        for key in ("title", "where", "machine", "tables", "figures", "drawings"):
            if key not in paper:
                yield f"{name}: [paper] has no {key}"
        drawings = [d.strip() for d in paper.get("drawings", "").split(",")]
        for kind in ("table", "figure"):
            for n in paper.get(kind + "s", "").split():
                if f"{kind} {n}" not in rows and f"{kind} {n}" not in drawings:
                    yield f"{name}: {kind} {n} of the paper has no row"
        for key, row in rows.items():
            try:
                yield from check_row(f"{name}: [{key}]", row, top, build, helps)
            except (tables.Missing, tables.Fault, ValueError) as e:
                yield f"{name}: [{key}]: {e}"

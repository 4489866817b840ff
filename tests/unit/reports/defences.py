"""Take out each defence of the reports in turn and see its test fail: `python -m tests.unit.reports.defences`.

The documents of the situations are no witnesses here: they would notice any change, whatever it is.
"""

from __future__ import annotations

from tests.defence_removal import Defence, take_out

REPORTS, CORE = "rageval_action/reports/", "rageval_action/core/"
TESTS = "tests/unit/reports/"
ESCAPE = "tests/unit/core/wording/test_escape.py"
RENDER, PAGE, TERMINAL = (
    TESTS + "test_comment_and_summary.py",
    TESTS + "test_html_report.py",
    TESTS + "test_terminal.py",
)
HISTORY, CHECK, MATRIX = TESTS + "test_history.py", TESTS + "test_check_run.py", TESTS + "test_matrix.py"
HOSTILE = TESTS + "test_hostile.py"

ESCAPES: tuple[Defence, ...] = tuple(
    (f"escape: {name}", CORE + "wording/escape.py", old, new, ESCAPE)
    for name, old, new in (
        ("control characters", '_CONTROL.sub(" ", text)', "text"),
        ("bidirectional and invisible characters", "_INVISIBLE.sub(REPLACEMENT, ", "(lambda text: text)("),
        ("mentions", 'shown = _MENTION.sub("@" + ZERO_WIDTH_SPACE, shown)', ""),
        ("references", 'shown = _REFERENCE.sub(r"\\1" + ZERO_WIDTH_SPACE, shown)', ""),
        ("schemes of bare addresses", 'shown = _SCHEME.sub(":" + ZERO_WIDTH_SPACE, shown)', ""),
        ("www addresses", "shown = _WWW.sub(lambda found: found[0] + ZERO_WIDTH_SPACE, shown)", ""),
        ("emoji codes", 'shown = _EMOJI_CODE.sub(":" + ZERO_WIDTH_SPACE, shown)', ""),
        ("markup", 'shown = _MARKUP.sub(lambda found: f"&#{ord(found[0])};", shown)', ""),
        ("numbers of lists", 'return _LIST_NUMBER.sub(r"\\1&#46;", shown)', "return shown"),
        (
            "length of a text",
            "shown = cap(visible(text), limit)\n    shown = _MENTION",
            "shown = visible(text)\n    shown = _MENTION",
        ),
        (
            "a cut beside a combined character",
            "while end > 0 and (_joins(text[end]) or",
            "while end > 0 and (False or",
        ),
        ("a cut beside a joiner", 'or text[end - 1] == "\\u200d"):', "or False):"),
        ("a cut inside a code point", '.decode("utf-8", "ignore")', '.decode("utf-8", "replace")'),
        ("quotes in HTML", "quote=True", "quote=False"),
        ("length in HTML", "escape(cap(visible(text), limit), quote", "escape(visible(text), quote"),
        ("sha of an address", 're.fullmatch(r"[0-9a-f]{40,64}", sha)', "sha"),
        ("path of an address", 'if any(segment in ("", ".", "..") for segment in segments):', "if False:"),
        ("letters of an address", 'quote(path.encode("utf-8", "replace"), safe="/")', "path"),
        ("older log commands", '.replace("##[", "#" + ZERO_WIDTH_SPACE + "#[")', ""),
        ("log commands", 'if shown.startswith("::") else shown', "if False else shown"),
        (
            "length of a log line",
            'shown = cap(visible(text), limit).replace("##[',
            'shown = visible(text).replace("##[',
        ),
    )
)

MARKUP: tuple[Defence, ...] = tuple(
    (f"markdown: {name}", REPORTS + "markdown_templates.py", old, new, f"{RENDER} {HOSTILE}")
    for name, old, new in (
        (
            "all that is printed",
            'return value if hasattr(value, "__html__") else cell(value)',
            "return Markdown(value)",
        ),
        ("what a template prints", "finalize=_finalize,", ""),
        (
            "adding to Markdown",
            "return s if isinstance(s, cls) else cls(escape.markdown(str(s), LIMIT))",
            "return cls(str(s))",
        ),
        (
            "cells",
            "else Markdown(escape.markdown(str(text), limit))\n\n\ndef code(",
            "else Markdown(text)\n\n\ndef code(",
        ),
        (
            "length of cells",
            "else Markdown(escape.markdown(str(text), limit))\n\n\ndef code(",
            "else Markdown(escape.markdown(str(text), 10**9))\n\n\ndef code(",
        ),
        (
            "ids",
            "return Markdown(escape.markdown_code(str(text), limit))",
            'return Markdown(f"<code>{text}</code>")',
        ),
        (
            "length of ids",
            "return Markdown(escape.markdown_code(str(text), limit))",
            "return Markdown(escape.markdown_code(str(text), 10**9))",
        ),
        (
            "lists of ids",
            "escape.markdown_code(name, 60) for name in names[:most]",
            'f"<code>{name}</code>" for name in names[:most]',
        ),
        ("names of measures", "if is_measure(text)", "if True"),
        ("sentences", "inner = escape.markdown(piece, len(piece))", "inner = piece"),
        ("length of sentences", "escape.cap(escape.visible(str(text)), limit)", "escape.visible(str(text))"),
        (
            "names in sentences",
            'r"|(?:tag|type|lang|source|principal):\\w(?:[\\w-]{0,58}\\w)?"',
            'r"|(?:tag|type|lang|source|principal):.+"',
        ),
        ("our own phrases", "Markdown(plain) if _OURS.fullmatch(plain) else cell(plain)", "Markdown(plain)"),
        ("words", "escape.markdown(name, 80) for name in names", "name for name in names"),
        (
            "ids in links",
            "escape.markdown_link(escape.markdown_code(row.id, 48), links.line(path, row.line))",
            "escape.markdown_link(row.id, links.line(path, row.line))",
        ),
        (
            "commits in links",
            "escape.markdown_link(escape.markdown_code(sha[:7]), links.commit(sha))",
            "escape.markdown_link(sha, links.commit(sha))",
        ),
        ("names that do not exist", "undefined=jinja2.StrictUndefined,", ""),
    )
)

LINKS: tuple[Defence, ...] = tuple(
    (f"links: {name}", REPORTS + file, old, new, RENDER)
    for name, file, old, new in (
        ("length of an address", "links.py", 'return url if len(url) <= LONGEST else ""', "return url"),
        (
            "what is a commit",
            "links.py",
            'plain = len(sha) in (40, 64) and all(char in "0123456789abcdef" for char in sha)',
            "plain = bool(sha)",
        ),
        ("letters of a commit", "links.py", ' and all(char in "0123456789abcdef" for char in sha)', ""),
        ("rows without a line", "links.py", "if not line:", "if False:"),
    )
)

FITTING: tuple[Defence, ...] = (
    ("fit: bytes, not characters", REPORTS + "comment_and_summary.py", "size = len(text.encode())", "size = len(text)", RENDER),
    ("fit: the limit", REPORTS + "comment_and_summary.py", "if size <= limit:", "if True:", RENDER),
    ("fit: the limit of a scaled rung", REPORTS + "comment_and_summary.py", "if len(text.encode()) <= limit:", "if True:", f"{RENDER} {HOSTILE}"),
    ("fit: lost", REPORTS + "truncate.py", "lost=view.lost[: rung.queries]", "lost=view.lost", f"{RENDER} {HOSTILE}"),
    *(
        (f"fit: {name}", REPORTS + "truncate.py", f"{name}=view.{name}[: rung.{rung}]", f"{name}=view.{name}", f"{RENDER} {HOSTILE}")
        for name, rung in (
            ("also", "reasons"), ("gained", "queries"), ("missed", "missed"), ("slices", "slices"), ("measures", "measures"),
            ("units", "measures"), ("gates", "gates"), ("warnings", "warnings"),
        )
    ),
    ("fit: small slices", REPORTS + "truncate.py", "small_slices=view.small_slices[: rung.small]", "small_slices=view.small_slices", f"{RENDER} {HOSTILE}"),
    ("fit: caveats", REPORTS + "truncate.py", "caveats=view.caveats[:caveats]", "caveats=view.caveats", f"{RENDER} {HOSTILE}"),
    ("fit: changes", REPORTS + "truncate.py", "changed=view.changed[: rung.changes - min(caveats, len(view.caveats))]", "changed=view.changed", f"{RENDER} {HOSTILE}"),
    ("fit: clusters", REPORTS + "truncate.py", "clusters=view.clusters[: 2 * rung.queries]", "clusters=view.clusters", f"{RENDER} {HOSTILE}"),
    *(
        (f"fit: how many {name} are left out", REPORTS + "truncate.py", old, "0,", f"{RENDER} {HOSTILE}")
        for name, old in (
            ("missed", "len(view.missed) - len(shown.missed),"),
            ("slices", "len(view.slices) + len(view.small_slices) - len(shown.slices) - len(shown.small_slices),"),
            ("measures", "len(view.measures) + len(view.units) - len(shown.measures) - len(shown.units),"),
            ("changes", "rows - len(shown.changed) - len(shown.caveats),"),
            ("gates", "len(view.gates) - len(shown.gates),"),
            ("warnings", "len(view.warnings) - len(shown.warnings),"),
        )
    ),
    ("snippet: length", REPORTS + "table_rows.py", "snippet=escape.cap(escape.visible(rival), SNIPPET)", "snippet=escape.visible(rival)", HOSTILE),
    ("snippet: control characters", REPORTS + "table_rows.py", "snippet=escape.cap(escape.visible(rival), SNIPPET)", "snippet=escape.cap(rival, SNIPPET)", HOSTILE),
)  # fmt: skip

BROWSER = "tests/browser/test_report.py"
HTML: tuple[Defence, ...] = tuple(
    (f"html: {name}", REPORTS + file, old, new, tests)
    for name, file, old, new, tests in (
        ("an end of the data", "html_file.py", 'for char in ("<", ', "for char in (", PAGE),
        (">", "html_file.py", '("<", ">", "&",', '("<", "&",', PAGE),
        ("&", "html_file.py", '("<", ">", "&",', '("<", ">",', PAGE),
        ("line ends of JavaScript", "html_file.py", '"&", "\\u2028", "\\u2029")', '"&")', PAGE),
        ("an end of a script inside it", "html_file.py", '.replace("</script", "<\\\\/script")', "", PAGE),
        ("policy: nothing is fetched", "html_file.py", "\"default-src 'none'\"", '"default-src *"', PAGE),
        (
            "policy: scripts by hash",
            "html_file.py",
            'f"script-src {hashes}"',
            "\"script-src 'unsafe-inline'\"",
            PAGE,
        ),
        ("policy: no base address", "html_file.py", "\"base-uri 'none'\",", "", PAGE),
        ("policy: no form", "html_file.py", "\"form-action 'none'\",", "", PAGE),
        ("title", "html_file.py", '"title": escape.html(title, 200)', '"title": title', PAGE),
        ("footer", "html_file.py", '"footer": escape.html(footer, 400)', '"footer": footer', PAGE),
        (
            "places inside the data",
            "html_file.py",
            'pieces = template.split("{{")',
            'template = template.replace("{{data}}", parts["data"])\n    pieces = template.split("{{")',
            PAGE,
        ),
        (
            "text as markup",
            "assets/charts.js",
            "node.append(...children",
            'for (const child of children.flat(9)) if (typeof child === "string") node.innerHTML += child;\n  node.append(...children.flat(9).filter((child) => typeof child !== "string")',
            BROWSER,
        ),
        (
            "snippets: length",
            "html_report.py",
            "escape.cap(escape.visible(self._texts[hashed]), SNIPPET)",
            "escape.visible(self._texts[hashed])",
            f"{PAGE} {HOSTILE}",
        ),
        (
            "snippets: control characters",
            "html_report.py",
            "escape.cap(escape.visible(self._texts[hashed]), SNIPPET)",
            "escape.cap(self._texts[hashed], SNIPPET)",
            f"{PAGE} {HOSTILE}",
        ),
        (
            "commands: golden set",
            "html_report.py",
            "shlex.quote(record.golden.path)",
            "record.golden.path",
            PAGE,
        ),
        (
            "commands: snapshot",
            "html_report.py",
            "shlex.quote(record.snapshot.path)",
            "record.snapshot.path",
            PAGE,
        ),
        (
            "commands: retriever",
            "html_report.py",
            "shlex.quote(record.retriever.name)",
            "record.retriever.name",
            PAGE,
        ),
        ("commands: commit", "html_report.py", "shlex.quote(sha)", "sha", PAGE),
        ("links without a referrer", "assets/report.js", 'rel: "noreferrer"', 'rel: ""', BROWSER),
    )
)

OTHERS: tuple[Defence, ...] = tuple(
    (name, REPORTS + file, old, new, tests)
    for name, file, old, new, tests in (
        ("charts: names", "mermaid_charts.py", '_UNSAFE.sub("_", escape.visible(name))', "name", f"{RENDER} {HOSTILE}"),
        ("charts: length of names", "mermaid_charts.py", 'escape.cap(_UNSAFE.sub("_", escape.visible(name)), 40)', '_UNSAFE.sub("_", escape.visible(name))', HOSTILE),
        ("charts: how many bars", "mermaid_charts.py", "[:MOST_BARS]", "", HOSTILE),
        ("check: title", "check_run.py", 'title=escape.cap(escape.visible(f"{view.title}. {view.sentence}"), TITLE_CHARACTERS)', 'title=f"{view.title}. {view.sentence}"', CHECK),
        ("check: a remark's title", "check_run.py", 'title=escape.cap(escape.visible(f"{row.id} {what}"), TITLE_CHARACTERS)', 'title=f"{row.id} {what}"', CHECK),
        ("check: a remark's control characters", "check_run.py", "escape.visible(line) for line in", "line for line in", CHECK),
        ("check: a remark's length", "check_run.py", "message=escape.cap(message, MESSAGE)", "message=message", CHECK),
        ("check: how many remarks", "check_run.py", "[:most]", "", CHECK),
        ("check: rows without a line", "check_run.py", "if row.line > 0 and view.golden_path", "if True", CHECK),
        ("check: bytes of the summary", "check_run.py", "summary=comment(view, links)", "summary=comment(view, links, limit=10**9)", CHECK),
        ("terminal: title", "terminal.py", 'yield escape.log_line(f"{view.title}. {view.sentence}")', 'yield f"{view.title}. {view.sentence}"', TERMINAL),
        ("terminal: above the tables", "terminal.py", '" " * (len(line) - len(bare)) + escape.log_line(bare)', '" " * (len(line) - len(bare)) + bare', TERMINAL),
        ("terminal: below the tables", "terminal.py", "yield escape.log_line(line)", "yield line", TERMINAL),
        ("terminal: cells", "terminal.py", "[escape.log_line(cell) for cell in row]", "row", TERMINAL),
        ("terminal: length of ids", "terminal.py", "escape.cap(row.id, NAME)", "row.id", TERMINAL),
        ("screen: sentence", "terminal.py", "Text(escape.visible(view.sentence))", "Text(view.sentence)", TERMINAL),
        ("screen: cells", "terminal.py", "cells = [Text(escape.visible(cell)) for cell in row[:-1]]", "cells = [Text(cell) for cell in row[:-1]]", TERMINAL),
        ("screen: markup in cells", "terminal.py", "cells = [Text(escape.visible(cell)) for cell in row[:-1]]", "cells = [escape.visible(cell) for cell in row[:-1]]", TERMINAL),
        ("screen: last cells", "terminal.py", "Text(escape.visible(row[-1]), style=tone)", "Text(row[-1], style=tone)", TERMINAL),
        ("explanation: lines", "query_explanation.py", "map(indented, _lines(explanation))", "_lines(explanation)", TERMINAL),
        ("explanation: texts", "query_explanation.py", "escape.cap(escape.visible(passage.text), SNIPPET)", "escape.visible(passage.text)", TERMINAL),
        ("history: alarms", "history.py", "escape.markdown(sentence(alarm, history.points), 500)", "sentence(alarm, history.points)", HISTORY),
        ("history: names of records", "history.py", "escape.markdown_code(one.sha[:10] or one.run_id[:10])", "(one.sha[:10] or one.run_id[:10])", HISTORY),
        ("history: what changed", "history.py", 'escape.markdown(what, 300) or "–"', 'what or "–"', HISTORY),
        ("history: how many alarms", "history.py", "for alarm in history.creep[:10]]", "for alarm in history.creep]", HISTORY),
        ("history: how many rows", "history.py", "reversed(rows[-MOST_ROWS:])", "reversed(rows)", HISTORY),
        ("history: how many series", "history.py", "history.series[:MOST_SERIES]", "history.series", HISTORY),
        ("badge: title", "history.py", 'title = escape.html(f"{made.label}: {made.message}")', 'title = f"{made.label}: {made.message}"', HISTORY),
        ("badge: text", "history.py", ">{escape.html(text)}</text>", ">{text}</text>", HISTORY),
        ("matrix: names", "matrix.py", "escape.markdown(row[0]), *map", "row[0], *map", MATRIX),
        ("matrix: cells", "matrix.py", "*map(ours, row[1:])", "*row[1:]", MATRIX),
        ("matrix: heads", "matrix.py", "names = [escape.markdown(name) for name in head(matrix)]", "names = head(matrix)", MATRIX),
        ("matrix: notes", "matrix.py", "notes(matrix, escape.markdown)", "notes(matrix)", MATRIX),
        ("matrix page: heads", "matrix.py", "<th scope=col>{escape.html(name)}</th>", "<th scope=col>{name}</th>", MATRIX),
        ("matrix page: cells", "matrix.py", "(escape.html(cell) for cell in row)", "row", MATRIX),
        ("matrix page: notes", "matrix.py", "<li>{escape.html(line)}</li>", "<li>{line}</li>", MATRIX),
        ("matrix page: title", "matrix.py", 'title = escape.html(f"Retrieval matrix over {matrix.golden}")', 'title = f"Retrieval matrix over {matrix.golden}"', MATRIX),
        ("matrix page: policy", "matrix.py", "default-src 'none'", "default-src *", MATRIX),
        ("matrix: cells on a terminal", "matrix.py", "[escape.log_line(cell) for cell in row]", "row", MATRIX),
        ("matrix: notes on a terminal", "matrix.py", "out.write(escape.log_line(line)", "out.write(line", MATRIX),
        ("matrix: cells on a screen", "terminal.py", "Text(escape.visible(cell)) for cell in row[:-1]", "Text(cell) for cell in row[:-1]", MATRIX),
        ("matrix: notes on a screen", "matrix.py", "console.print(Text(escape.visible(line)))", "console.print(Text(line))", MATRIX),
    )
)  # fmt: skip

DEFENCES = (*ESCAPES, *MARKUP, *LINKS, *FITTING, *HTML, *OTHERS)

if __name__ == "__main__":
    take_out(DEFENCES)

"""How a run ends: results published, outputs completed, the log closed; or an error shown where a result would be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from rageval_action.action.publish import comment, error_check, exit_code, publish
from rageval_action.action.session import Result, Session, error_markdown, place_of, tried, write_results
from rageval_action.core.wording import escape
from rageval_action.errors import EXIT_CANNOT_MEASURE, RagevalError
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import RunPlan
from rageval_action.github.workflow_commands import Level, Log, write_outputs, write_summary


class NoPlan(Struct, frozen=True):
    """The run ended before it was known what the event asks for."""


def finish(session: Session, plan: RunPlan, result: Result) -> int:
    """Publish what is already safe on disk, add the outputs that brings, say how it ended."""
    session.log.line(f"Verdict: {word(plan, result)}")
    for text in list(dict.fromkeys(reason.text for reason in result.document.reasons))[:10]:
        session.log.line(f"  {text}")
    level: Level = "error" if result.document.exit_code else "notice"
    first = result.document.reasons[0].text if result.document.reasons else ""
    session.log.annotate(level, f"{word(plan, result)}: {first}", title=f"rageval {session.inputs.id}")
    published = publish(session, plan, result)
    code = 0 if plan.mode == "publish" else result.document.exit_code
    code = exit_code(session, plan, code, published, result.unwritten)
    _add_outputs(session, {**published.outputs, "exit-code": str(code)})
    return code


def word(plan: RunPlan, result: Result) -> str:
    """The outcome in a word or two, for the log."""
    if plan.mode == "record" and result.document.verdict == "no_baseline":
        return "recorded"
    return "overridden" if result.document.overridden else result.document.verdict.replace("_", " ")


def _add_outputs(session: Session, values: dict[str, str]) -> None:
    if session.runner.output_path:
        tried(session, "the outputs", lambda: write_outputs(Path(session.runner.output_path), values))


def report_error(session: Session, plan: RunPlan | NoPlan, error: RagevalError) -> None:
    """Nothing was measured: say so wherever a result would have been, each on its own."""
    session.log.line(f"rageval: {error}")
    session.log.annotate("error", str(error), title=error.code, place=place_of(error))
    report = error_markdown(error)
    write_results(session, error_outputs(error), report)
    if isinstance(plan, NoPlan) or plan.writing == "never":
        return
    if plan.comment and session.inputs.comment:
        _tell(session, "comment", lambda: comment(session, plan, f"{report}\n{_footer(session)}"))
    if session.inputs.check:
        _tell(session, "check", lambda: error_check(session, plan, error, report))


def error_outputs(error: RagevalError) -> dict[str, str]:
    """The outputs of a run that measured nothing."""
    verdict = "cannot_measure" if error.exit_code == EXIT_CANNOT_MEASURE else "error"
    return {"verdict": verdict, "exit-code": str(error.exit_code), "error-code": error.code}


def _tell(session: Session, surface: str, step: Callable[[], object]) -> None:
    try:
        step()
    except ApiError as problem:
        text = f"the {surface} could not be published: {problem.message}"
        session.log.annotate("warning", text, title="rageval")


def last_words(environ: Mapping[str, str], log: Log, error: RagevalError) -> None:
    """An error before anything could be planned: the log, and outputs and summary where the runner names them."""
    log.line(f"rageval: {error}")
    log.annotate("error", str(error), title=error.code)
    for name, write in (
        ("GITHUB_OUTPUT", lambda path: write_outputs(path, error_outputs(error))),
        ("GITHUB_STEP_SUMMARY", lambda path: write_summary(path, error_markdown(error))),
    ):
        if environ.get(name):
            try:
                write(Path(environ[name]))
            except OSError as problem:
                log.annotate("warning", f"{name} could not be written: {problem.strerror}", title="rageval")


def _footer(session: Session) -> str:
    return f"<sub>[This run]({session.runner.run_url}) · {escape.markdown(session.inputs.id)}</sub>\n"

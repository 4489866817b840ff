"""How a run ends: results published, outputs completed, the log closed; or an error shown where a result would be."""

from __future__ import annotations

from pathlib import Path

from rageval_action.action.publish import comment, exit_code, publish
from rageval_action.action.session import Result, Session, error_markdown, place_of, write_results
from rageval_action.core.wording import escape
from rageval_action.errors import RagevalError
from rageval_action.github.api_errors import ApiError
from rageval_action.github.event import RunPlan
from rageval_action.github.workflow_commands import Level, write_outputs


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
    code = exit_code(session, plan, code, published)
    _add_outputs(session, {**published.outputs, "exit-code": str(code)})
    return code


def word(plan: RunPlan, result: Result) -> str:
    """The outcome in a word or two, for the log."""
    if plan.mode == "record" and result.document.verdict == "no_baseline":
        return "recorded"
    return "overridden" if result.document.overridden else result.document.verdict.replace("_", " ")


def _add_outputs(session: Session, values: dict[str, str]) -> None:
    if session.runner.output_path:
        write_outputs(Path(session.runner.output_path), values)


def report_error(session: Session, plan: RunPlan, error: RagevalError) -> None:
    """Nothing was measured: say so wherever a result would have been."""
    session.log.line(f"rageval: {error}")
    session.log.annotate("error", str(error), title=error.code, place=place_of(error))
    report = error_markdown(error)
    write_results(
        session, {"verdict": "error", "exit-code": str(error.exit_code), "error-code": error.code}, report
    )
    if plan.comment and session.inputs.comment:
        try:
            comment(session, plan, f"{report}\n{_footer(session)}")
        except ApiError as problem:
            session.log.annotate(
                "warning", f"the comment could not be published: {problem.message}", title="rageval"
            )


def _footer(session: Session) -> str:
    return f"<sub>[This run]({session.runner.run_url}) · {escape.markdown(session.inputs.id)}</sub>\n"

"""`rageval golden generate`: questions from a team's own chunks, written and criticised by Claude."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_action.cli.options import text_option
from rageval_action.cli.safe_echo import say
from rageval_action.cli.value_types import integer, number, number_option
from rageval_action.errors import ConfigError, RagevalError
from rageval_action.option_values import Option, parse_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rageval_action.core.model.snapshot import Encode, Snapshot
    from rageval_action.golden.generate.budget import Budget
    from rageval_action.golden.generate.funnel import Report
    from rageval_action.golden.generate.generation import Result
    from rageval_action.golden.generate.model_requests import Asker
    from rageval_action.golden.generate.prices import Price
    from rageval_action.golden.generate.question_plan import QuestionPlan, Settings
    from rageval_action.golden.generate.roundtrip import Search

SHARE = Option(name="style", kind="number")

DEPTH = 10
"""Hits of each search in the round trip."""


@click.command()
@click.option("--snapshot", required=True, metavar="DIR", help="Index whose chunks are asked about.")
@click.option("--out", required=True, metavar="FILE", help="Canonical JSON Lines; rows are added to it.")
@number_option("--questions", integer(1), 100, "How many to ask for; fewer are kept.")
@number_option("--per-chunk", integer(1, 100), 2, "Questions in one request.")
@click.option("--style", "styles", multiple=True, metavar="NAME=SHARE", help="Share of a style; repeat.")
@number_option("--multi", number(), 0.1, "Share of questions that need two documents.")
@number_option("--unanswerable", number(), 0.1, "Share of questions nothing answers.")
@number_option("--seed", integer(most=2**32 - 1), 0, "Of the sample and the mix of styles.")
@click.option("--model", default="claude-haiku-5-5", show_default=True, help="Writes the questions.")
@click.option("--critic-model", default="", help="Judges them; default: the same model. none: no critic.")
@click.option("--effort", default="", help="How much the models may think: low (default) to max, or none.")
@click.option(
    "--batch", is_flag=True, help="Message Batches: half the price, within a day, may be killed and resumed."
)
@number_option("--workers", integer(1, 256), 4, "Requests at a time, without --batch.")
@number_option(
    "--max-cost",
    number(most=1e6),
    0.0,
    "Hard stop: nothing is sent that could cost more.",
    metavar="USD",
    show_default=False,
)
@text_option("--price", "IN/OUT", "US dollars per million tokens of --model.")
@text_option("--critic-price", "IN/OUT", "The same for --critic-model.")
@click.option("--dry-run", is_flag=True, help="Say what a run would cost; nothing is sent, no key is needed.")
@click.option(
    "--existing", multiple=True, metavar="FILE", help="Golden set whose questions must not be repeated."
)
@text_option("--ledger", "FILE", "Answers paid for; default: OUT.ledger.jsonl.")
@click.option("--base-url", default="", help="Of the API; default: the SDK's.")
@number_option("--poll", number(0.01, 86_400), 30.0, "Between looks at a batch.", metavar="SECONDS")
@number_option("--retries", integer(most=20), 4, "Of the SDK, for one request.")
@number_option("--timeout", number(0.01, 86_400), 120.0, "For one request.", metavar="SECONDS")
@click.option("--searches", default="bm25,dense", show_default=True, help="Of the round trip, or none.")
@text_option("--embed-model", "NAME|DIR", "For the dense search; default: the snapshot's.")
def generate(snapshot: str, out: str, **given: Any) -> None:
    """Generate questions from the chunks of a snapshot, filter them hard, and write them for review.

    The key is read from ANTHROPIC_API_KEY. Every answer is kept in the ledger: a run that was stopped goes on where
    it was, and a second run with the same settings costs nothing.
    """
    from rageval_action.golden.generate.prices import price_of
    from rageval_action.golden.generate.question_plan import make_plan
    from rageval_action.snapshots.interface import open_snapshot

    opened = open_snapshot(snapshot)
    model, critic = given["model"], given["critic_model"] or given["model"]
    prices = {model: price_of(model, given["price"])}
    if critic != "none":
        said = given["critic_price"] or (given["price"] if critic == model else "")
        prices[critic] = price_of(critic, said)
    settings = _settings(given, prices, "" if critic == "none" else critic)
    plan = make_plan(opened.chunks, settings)
    _tell_plan(plan, settings)
    if given["dry_run"]:
        _tell_estimate(plan, settings, prices, batch=given["batch"], round_trip=given["searches"] != "none")
        return
    _run(opened, Path(out), plan, settings, prices, given)


def _run(
    opened: Snapshot,
    out: Path,
    plan: QuestionPlan,
    settings: Settings,
    prices: dict[str, Price],
    given: dict[str, Any],
) -> None:
    from rageval_action.golden.canonical_file import RowFile
    from rageval_action.golden.generate.budget import Budget
    from rageval_action.golden.generate.client import connect
    from rageval_action.golden.generate.generation import Generation
    from rageval_action.golden.generate.ledger import Ledger

    budget = Budget(given["max_cost"], prices, batch=given["batch"])
    ledger = Ledger(Path(given["ledger"] or f"{out}.ledger.jsonl"))
    client = connect(given["base_url"], timeout_s=given["timeout"], retries=given["retries"])
    asker = _asker(client, ledger, budget, given)
    wanted = [name.strip() for name in given["searches"].split(",") if name.strip() not in ("", "none")]
    encode = _encoder(opened, given["embed_model"]) if "dense" in wanted else None
    run = Generation(
        opened.chunks,
        settings,
        asker,
        RowFile.open_or_new(out),
        existing=_texts(given["existing"]),
        searches=_searches(wanted, opened, encode),
        encode=encode,
        wave=len(plan.slots) if given["batch"] else max(1, 2 * given["workers"]),
        say=_progress(settings.questions),
    )
    try:
        result = run.run(plan)
    finally:
        click.echo(f"Spent ${budget.spent:.4f} ({budget.tokens_in:,} tokens in, {budget.tokens_out:,} out).")
    _tell_result(result, budget, out)


def _settings(given: dict[str, Any], prices: dict[str, Price], critic: str) -> Settings:
    from rageval_action.golden.generate.question_plan import DEFAULT_STYLES, Settings

    effort = "" if given["effort"] == "none" else given["effort"] or "low"
    return Settings(
        questions=given["questions"],
        per_chunk=given["per_chunk"],
        styles=_shares(given["styles"]) or DEFAULT_STYLES,
        multi=given["multi"],
        unanswerable=given["unanswerable"],
        seed=given["seed"],
        model=given["model"],
        effort=effort if prices[given["model"]].effort or given["effort"] else "",
        critic_model=critic,
        critic_effort=effort if critic and (prices[critic].effort or given["effort"]) else "",
    )


def _shares(given: Sequence[str]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for piece in given:
        name, mark, share = piece.partition("=")
        try:
            shares[name.strip()] = parse_value(SHARE, share) if mark else 1.0
        except ValueError as fault:
            text = f'"{piece}" is not NAME=SHARE: {fault}.'
            raise ConfigError("generate.bad-settings", text, where="--style") from fault
    return shares


def _asker(client: Any, ledger: Any, budget: Budget, given: dict[str, Any]) -> Asker:
    if given["batch"]:
        from rageval_action.golden.generate.batches import Batched

        return Batched(client, ledger, budget, poll_s=given["poll"], say=click.echo)
    from rageval_action.golden.generate.client import Interactive

    return Interactive(client, ledger, budget, workers=given["workers"])


def _encoder(opened: Snapshot, model: str) -> Encode | None:
    """The snapshot's query encoder; None when its model is not at hand."""
    from rageval_action.snapshots.encoder import query_encoder

    if not opened.manifest.dimension:
        return None
    try:
        encode = query_encoder(opened, model_path=model)
        encode(["does the model answer?"])
    except RagevalError as absent:
        say(f"Round trip without the dense search: {absent.message} {absent.hint}")
        return None
    return encode


def _searches(asked: Sequence[str], opened: Snapshot, encode: Encode | None) -> dict[str, Search]:
    """The searches of the round trip: lexical where it is installed, dense where an encoder is at hand."""
    from rageval_action.retrievers.interface import RETRIEVERS

    wanted = [name for name in asked if name in RETRIEVERS and (name != "dense" or encode is not None)]
    found: dict[str, Search] = {}
    for name in wanted:
        try:
            found[name] = _search(name, opened, encode)
        except (RagevalError, ImportError) as absent:
            say(f"Round trip without {name}: {absent}")
    return found


def _search(name: str, opened: Snapshot, encode: Encode | None) -> Search:
    from rageval_action.core.model.types import Query
    from rageval_action.retrievers.interface import RetrieverContext, build

    def no_vectors(texts: Sequence[str]) -> Any:
        raise ConfigError("generate.no-encoder", f"{len(texts)} queries cannot be embedded.")

    retriever = build(name, RetrieverContext(snapshot=opened, encode=encode or no_vectors))

    def search(texts: Sequence[str]) -> list[list[str]]:
        queries = [Query(id=str(number), text=text) for number, text in enumerate(texts)]
        return [[hit.id for hit in one.hits] for one in retriever.retrieve(queries, DEPTH).rankings]

    return search


def _texts(paths: Sequence[str]) -> list[str]:
    from rageval_action.golden.formats import read_golden

    return [query.text for path in paths for query in read_golden(path).queries]


def _tell_plan(plan: QuestionPlan, settings: Settings) -> None:
    asked = sum(len(slot.styles) for slot in plan.slots)
    passed = ", ".join(f"{count} {reason}" for reason, count in plan.skipped.items())
    click.echo(
        f"{asked} questions about {plan.usable} usable chunks"
        + (f" ({passed} passed over)" if passed else "")
        + f", in {len(plan.slots)} requests to {settings.model}."
    )
    if asked < settings.questions:
        click.echo(
            f"Fewer than the {settings.questions} asked for: there are not more chunks; raise --per-chunk."
        )


def _tell_estimate(
    plan: QuestionPlan, settings: Settings, prices: dict[str, Price], *, batch: bool, round_trip: bool
) -> None:
    from rageval_action.golden.generate.estimate import estimate
    from rageval_action.golden.generate.prices import AS_OF

    lines = estimate(plan, settings, prices, batch=batch, round_trip=round_trip)
    click.echo(f"{'stage':<12}{'requests':>10}{'tokens in':>12}{'tokens out':>12}{'US dollars':>12}")
    for line in lines:
        click.echo(
            f"{line.stage:<12}{line.requests:>10,}{line.input_tokens:>12,}{line.output_tokens:>12,}{line.usd:>12.4f}"
        )
    total = sum(line.usd for line in lines)
    click.echo(f"{'likely':<12}{sum(line.requests for line in lines):>10,}{'':>24}{total:>12.4f}")
    click.echo(
        f"An estimate by length, at the prices of {AS_OF}"
        + (" and half of them for batches" if batch else "")
        + "; thinking may add to it. --max-cost is the hard stop. Nothing was sent."
    )


def _progress(wanted: int) -> Callable[[Report], None]:
    def say(report: Report) -> None:
        click.echo(f"  {report.asked} of {wanted} asked, {report.kept} kept")

    return say


def _tell_result(result: Result, budget: Budget, out: Path) -> None:
    funnel = result.funnel
    click.echo(f"asked    {funnel.asked:>6}")
    for reason, count in sorted(funnel.lost.items(), key=lambda pair: -pair[1]):
        click.echo(f"  lost   {-count:>6}  {reason}")
    click.echo(
        f"parsed   {funnel.parsed:>6}"
        + (f"  ({funnel.surplus} more than asked for)" if funnel.surplus else "")
    )
    for reason, count in sorted(funnel.dropped.items(), key=lambda pair: -pair[1]):
        click.echo(f"  drop   {-count:>6}  {reason}")
    notes = [f"{funnel.rewritten} rewritten"] if funnel.rewritten else []
    notes += [f"{funnel.written_before} there before"] if funnel.written_before else []
    click.echo(f"kept     {funnel.kept:>6}" + (f"  ({', '.join(notes)})" if notes else ""))
    if result.difficulty:
        shown = ", ".join(f"{count} {name}" for name, count in result.difficulty.items())
        click.echo(f"Difficulty: {shown}. The round trip added {result.also} judgments.")
    if budget.stopped:
        click.echo("Stopped by --max-cost; run again with more to go on, nothing is paid for twice.")
    click.echo(f"Review them: rageval golden review {out} --snapshot DIR")

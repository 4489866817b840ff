"""The configured retriever over one snapshot: it is built once, and asked by the head's exam and by the base's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from rageval_action.config import Config
from rageval_action.core.labels.access import audit
from rageval_action.core.measuring.base_questions import BaseAnswers, to_ask
from rageval_action.core.model.record import RunRecord
from rageval_action.core.model.snapshot import Snapshot
from rageval_action.core.model.types import Chunk, Query, Run
from rageval_action.errors import ConfigError
from rageval_action.retrievers.interface import EXTERNAL, Access, Retriever, RetrieverContext, build
from rageval_action.snapshots.encoder import query_encoder
from rageval_action.snapshots.model import load_model
from rageval_action.world import World


class Ranker:
    """The configured retriever over what was read; it is built once and may be asked several times."""

    def __init__(self, config: Config, snapshot: Snapshot, world: World) -> None:
        self.access = access_mode(config)
        load = partial(load_model, environ=world.environ)
        self.encode = query_encoder(snapshot, model_path=config.model, load=load)
        context = RetrieverContext(
            snapshot=snapshot,
            encode=self.encode,
            options=config.retriever_options,
            access=self.access,
            threads=config.threads,
            environ=world.environ,
        )
        self.retriever = _built(config, context)

    def rank(self, queries: Sequence[Query], depth: int) -> Run:
        """Rank every query to `depth` distinct documents.

        What embedding the queries cost is added here, once, however many parts of the retriever shared the vectors.
        """
        run = self.retriever.retrieve(queries, depth)
        encode = self.encode
        return replace(run, cost={**run.cost, **encode.cost}, notices=(*run.notices, *encode.notices))

    def cannot_rank(self, queries: Sequence[Query], taken: frozenset[str]) -> dict[str, str]:
        """Id -> code of the queries that this retriever cannot be asked; `taken` are ids that mean other queries."""
        rows = getattr(self.retriever, "without_row", None)
        if rows is not None:
            return dict.fromkeys([*rows(queries), *(q.id for q in queries if q.id in taken)], "no-row")
        if not self.encode.used:
            return {}
        missing = self.encode.missing([query.text for query in queries])
        return {query.id: "no-vector" for query in queries if query.text in missing}


def ask_base(
    ranker: Ranker,
    baseline: RunRecord,
    snapshot: Snapshot,
    asked: Sequence[Query],
    depth: int,
    chunks: Mapping[str, Chunk],
) -> BaseAnswers:
    """Put those questions of the base to the retriever that the head does not ask; what cannot be asked has a code."""
    wanted = to_ask(baseline, asked, snapshot.chunks, names_matter=ranker.access == "audit")
    cannot = ranker.cannot_rank(wanted.queries, frozenset(query.id for query in asked))
    queries = tuple(query for query in wanted.queries if query.id not in cannot)
    run = (
        audit(ranker.rank(queries, depth), queries, chunks)
        if queries
        else Run(rankings=(), retriever="", depth=depth)
    )
    return BaseAnswers(baseline=baseline, queries=queries, run=run, unasked={**wanted.unasked, **cannot})


def _built(config: Config, context: RetrieverContext) -> Retriever:
    """The retriever; what is wrong with its options is said with the file that they stand in."""
    try:
        return build(config.retriever, context)
    except ConfigError as error:
        place = config.retriever_place.removesuffix(": retriever")
        where = ": ".join(filter(None, (place, error.where)))
        raise ConfigError(error.code, error.message, hint=error.hint, where=where) from error


def access_mode(config: Config) -> Access:
    """How access is treated: as configured, else by whose retriever it is.

    What a foreign system returns is judged as it came, also where it is a part of a hybrid or gets reranked.
    """
    if config.access != "auto":
        return config.access
    parts = {config.retriever}
    for value in config.retriever_options.values():
        parts.update(str(value).split(","))
    return "audit" if parts & EXTERNAL else "enforce"

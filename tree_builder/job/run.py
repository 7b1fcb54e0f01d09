"""One run of one corpus, from the lock to the report. `build` is the nightly job."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tree_builder.errors import ConfigError, Conflict, NothingPublished, TreeBuilderError
from tree_builder.grow import Grower, Slots
from tree_builder.job import logcontext
from tree_builder.job.directories import TreeWork
from tree_builder.job.documents import DocumentWork, Outcome
from tree_builder.job.fallback import WithFallback
from tree_builder.job.plan import Plan, compare, settle
from tree_builder.job.progress import Progress
from tree_builder.job.recipe import changed, ingredients, recipe_of
from tree_builder.job.report import Problem, Report
from tree_builder.model import DocumentStatus, KnownDocument, SourceFile
from tree_builder.models import RunLedger, open_models
from tree_builder.protocols import Embedder, LanguageModel, Memo, VectorStore
from tree_builder.read import ReadPool
from tree_builder.scan import scan
from tree_builder.settings import Settings
from tree_builder.store.corpora import Corpora, Corpus
from tree_builder.store.database import Database, resolve_url
from tree_builder.store.locks import CorpusLock, new_holder
from tree_builder.store.memo import PlaceUses, PostgresMemo
from tree_builder.store.migrate import migrate
from tree_builder.store.publishing import Publication, count_nodes, count_writes, publish
from tree_builder.store.staging import Staging
from tree_builder.store.upkeep import forget_old_versions, index_vectors, prune, unindex_vectors
from tree_builder.store.vectors import PostgresVectors

log = logging.getLogger(__name__)

ModelsFactory = Callable[
    [Settings, Memo, VectorStore, RunLedger], AbstractAsyncContextManager[tuple[Embedder, LanguageModel]]
]


@dataclass(frozen=True, slots=True)
class Options:
    """What one run is asked besides the settings."""

    rehash: bool = False
    reembed: bool = False


async def build(
    folder: Path | str,
    settings: Settings,
    *,
    corpus: str | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
    models: ModelsFactory = open_models,
) -> Report:
    """Bring the corpus's tree up to date with the folder, and publish it.

    corpus: its name; default: the folder's. models: makes the models from the settings; tests put others there.

    Raises:
        ConfigError: the folder or a setting cannot be used.
        Conflict: the corpus has vectors of another model.
        RunInProgress: another run has the corpus.
        StoreError, ProviderRejected: nothing was published; what was paid for is kept.
    """
    folder = checked_folder(Path(folder))
    corpus = corpus or folder.name or "corpus"
    report = Report(corpus)
    progress = progress or Progress()
    with report.timed("total"):
        async with resolve_url(settings) as url:
            await migrate(url)
            async with Database.open(url, application_name="tree-builder build") as db:
                stored = await Corpora(db).upsert(corpus, str(folder))
                async with CorpusLock(db, url, corpus, stored.corpus_id) as lock:
                    stored = await Corpora(db).require(corpus)  # as the last holder of the lock left it
                    run = Run(
                        folder,
                        settings,
                        options=options or Options(),
                        db=db,
                        url=url,
                        lock=lock,
                        corpus=stored,
                        report=report,
                        progress=progress,
                        models=models,
                    )
                    await run.execute()
    return report


def checked_folder(folder: Path) -> Path:
    """Give the folder as an absolute path.

    Raises:
        ConfigError: there is none.
    """
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}; give the folder which holds the documents", folder=str(folder))
    return folder.resolve()


class Run:
    """One run under the corpus's lock. Use `build`."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        *,
        options: Options,
        db: Database,
        url: str,
        lock: CorpusLock,
        corpus: Corpus,
        report: Report,
        progress: Progress,
        models: ModelsFactory,
    ) -> None:
        self._folder, self._settings, self._options = folder, settings, options
        self._db, self._url, self._lock, self._corpus = db, url, lock, corpus
        self._report, self._progress, self._models = report, progress, models
        self._corpora = Corpora(db)
        self._tree_changed = False
        self._ingredients = ingredients(settings)
        self._recipe = recipe_of(self._ingredients)

    async def execute(self) -> None:
        """Do the run; whatever happens, it is noted how it ended."""
        self._refuse_other_model()
        self._run_id = await self._corpora.begin_run(
            self._corpus.corpus_id, new_holder(), {**self._settings.public(), "ingredients": self._ingredients}
        )
        self._report.run_id = self._run_id
        logcontext.run_id.set(self._run_id)
        try:
            await self._work()
        except BaseException as error:
            self._report.status = "cancelled" if isinstance(error, asyncio.CancelledError) else "failed"
            self._report.error = str(error) or type(error).__name__
            await self._note_end()
            raise

    async def _note_end(self) -> None:
        """Note how a run ended which did not publish; not worth waiting long for when the database is gone."""
        end = self._corpora.end_run(self._run_id, self._report.status, self._report.as_json(), self._report.error)
        try:
            await asyncio.shield(asyncio.wait_for(asyncio.ensure_future(end), timeout=5))
        except (TreeBuilderError, TimeoutError, asyncio.CancelledError) as error:
            log.warning("how run %s ended could not be noted: %s", self._run_id, error)

    def _refuse_other_model(self) -> None:
        before, now = self._corpus.model, self._settings.embedding_model_name
        if before is None or before == now or self._options.reembed:
            return
        raise Conflict(
            f"corpus {self._corpus.corpus!r} has vectors of {before} ({self._corpus.dimensions} dimensions), not of {now}; "
            "to embed it anew, keeping the summaries, run build with --reembed",
            corpus=self._corpus.corpus,
            model=before,
        )

    async def _work(self) -> None:
        self._progress.begin("scanning")
        known = await self._corpora.known_documents(self._corpus.corpus_id)
        async with ReadPool(self._settings) as pool:
            plan = await self.plan(known, pool)
            self._say_what_is_rebuilt(known)
            unfinished = await self._unfinished_directories()
            published = self._corpus.published_run is not None
            if plan.is_empty and not unfinished and self._nothing_to_embed() and published:
                await self._publish([], plan, None)
                return
            self._tree_changed = True
            s = self._settings
            ledger = RunLedger(s.max_usd, s.max_minutes, s.prices, models=_paid_models(s))
            self._report.spent_so_far = ledger.report
            memo = PostgresMemo(self._db, self._run_id)
            vectors = PostgresVectors(self._db, self._settings.embedding_model_name, self._known_dimensions())
            # pyright tells the coroutines which `retried` gives from those of `async def`.
            store = cast("VectorStore", vectors)
            async with self._models(self._settings, memo, store, ledger) as (embedder, language):
                self._report.models = {"embedding": embedder.name, "summary": language.name}
                self._progress.spent = lambda: ledger.total
                outcomes = await self._grow(plan, known, unfinished, pool=pool, embedder=embedder, language=language)
                self._progress.begin("publishing")
                with self._report.timed("embed"):
                    await self._embed_missing(embedder, vectors)
            await self._publish(outcomes, plan, vectors.model_id)

    def _known_dimensions(self) -> int | None:
        same = self._corpus.model == self._settings.embedding_model_name
        return self._settings.embedding_dimensions or (self._corpus.dimensions if same else None)

    def _nothing_to_embed(self) -> bool:
        return self._corpus.model in {None, self._settings.embedding_model_name}

    async def plan(self, known: dict[str, KnownDocument], pool: ReadPool) -> Plan:
        """Scan the folder and decide what to do; hashes what size and time cannot tell."""
        s = self._settings
        with self._report.timed("scan"):
            files = await asyncio.to_thread(
                lambda: list(scan(self._folder, follow_symlinks=s.follow_symlinks, max_file_mb=s.max_file_mb))
            )
            look = compare(files, known, rehash=self._options.rehash)
            hashes = await hashes_of(self._folder, look.suspects, pool)
        plan = settle(look, hashes, known, {f.doc_path: f for f in files}, recipe=self._recipe)
        self._report.documents["unchanged"] = len(plan.unchanged) + len(plan.touched)
        self._report.documents["unsupported"] = plan.n_unsupported
        self._report.documents["deleted"] = len([d for d in plan.gone if d.doc_path not in plan.moved_from])
        for document in plan.unchanged:
            if document.status is not DocumentStatus.BUILT:
                self._report.add_problem(Problem(document.doc_path, document.status, document.reason, document.stale))
                self._report.documents["unchanged"] -= 1
        return plan

    def _say_what_is_rebuilt(self, known: dict[str, KnownDocument]) -> None:
        before = self._corpus.settings.get("ingredients")
        if before and before != self._ingredients:
            self._report.rebuilt = changed(before, self._ingredients)
            log.warning(
                "settings changed, %d documents are built anew: %s", len(known), "; ".join(self._report.rebuilt)
            )

    async def _grow(
        self,
        plan: Plan,
        known: dict[str, KnownDocument],
        unfinished: list[str],
        *,
        pool: ReadPool,
        embedder: Embedder,
        language: LanguageModel,
    ) -> list[Outcome]:
        """Grow documents side by side, directories as theirs arrive; stage all of it."""
        self._progress.begin("growing")
        staging = Staging(self._db, self._corpus.corpus_id, self._run_id)
        uses = PlaceUses(self._db, self._corpus.corpus_id, self._run_id)
        slots = language if isinstance(language, Slots) else None
        grower = Grower(language, embedder, self._settings, slots=slots, many=len(plan.readings) > 1)
        documents = DocumentWork(
            corpus=self._corpus.corpus,
            folder=self._folder,
            recipe=self._recipe,
            known=known,
            pool=pool,
            embedder=embedder,
            grower=grower,
            staging=staging,
            uses=uses,
            report=self._report,
            progress=self._progress,
            slots=asyncio.Semaphore(_documents_in_flight(self._settings)),
        )
        above = grower.with_model(WithFallback(language, self._settings.summary_chars))
        work = TreeWork(self._corpus.corpus, documents, above, plan, known)
        return await work.grow(unfinished)

    async def _unfinished_directories(self) -> list[str]:
        return await Staging(self._db, self._corpus.corpus_id, self._run_id).flagged_directories("fallback:%")

    async def _embed_missing(self, embedder: Embedder, vectors: PostgresVectors) -> None:
        """Give every node of the new tree its vector: what could not be had while growing, and all after a change of model."""
        staging = Staging(self._db, self._corpus.corpus_id, self._run_id)
        after = None
        if vectors.model_id is None:
            await embedder.embed(["dimensions"])
        while vectors.model_id is not None:
            texts = await staging.texts_without_vector(vectors.model_id, after)
            if not texts:
                return
            await embedder.embed([content for _, content in texts])
            after = texts[-1][0]

    async def _publish(self, outcomes: list[Outcome], plan: Plan, model_id: int | None) -> None:
        with self._report.timed("publish"):
            corpus_id, run_id = self._corpus.corpus_id, self._run_id
            model_id = model_id or self._corpus.model_id
            if model_id is not None and self._tree_changed:
                await index_vectors(self._url, model_id=model_id, corpus_id=corpus_id, run_id=run_id)
            self._report.nodes = await count_nodes(self._db, corpus_id, run_id)
            self._report.nodes_written, self._report.nodes_ended = await count_writes(self._db, corpus_id, run_id)
            if not self._report.nodes.get("root") and self._corpus.published_run is None:
                raise NothingPublished(
                    f"nothing to publish: no document in {self._folder} has text; `tree-builder status` tells why",
                    folder=str(self._folder),
                )
            await self._lock.still_held()
            self._report.status = "published"
            publication = Publication(
                corpus_id=corpus_id,
                run_id=run_id,
                model_id=model_id,
                settings={"ingredients": self._ingredients},
                documents=[o.document for o in outcomes] + list(plan.touched),
                gone=[d.doc_path for d in plan.gone],
            )
            await publish(self._db, publication, self._report.as_json())
            if self._tree_changed:
                await self._tidy(model_id)
        await self._corpora.end_run(run_id, "published", self._report.as_json())

    async def _tidy(self, model_id: int | None) -> None:
        """Put away what the new tree made superfluous. The tree is published: trouble here is told, not raised."""
        try:
            corpus_id, run_id = self._corpus.corpus_id, self._run_id
            for model in {model_id, self._corpus.model_id}:
                if model is not None:
                    await unindex_vectors(self._db, model_id=model, corpus_id=corpus_id, run_id=run_id)
            await forget_old_versions(self._db, corpus_id=corpus_id, keep=self._settings.keep)
            await prune(self._db, self._lock)
        except TreeBuilderError as error:
            self._report.warnings.append(f"old versions could not be put away, the next run tries again: {error}")


async def hashes_of(folder: Path, files: tuple[SourceFile, ...], pool: ReadPool) -> dict[str, bytes]:
    """Hash files by content, side by side; one which cannot be read is left out."""
    hashes: dict[str, bytes] = {}
    for start in range(0, len(files), 256):
        batch = files[start : start + 256]
        digests = await asyncio.gather(*(pool.hash(folder, file) for file in batch))
        hashes |= {file.doc_path: digest for file, digest in zip(batch, digests, strict=True) if digest}
    return hashes


def _documents_in_flight(settings: Settings) -> int:
    """Enough to fill the slots for model calls, few enough to bound memory.

    Under a limit of money only a few, so that what is paid for ends in whole documents.
    """
    if settings.max_usd is not None:
        return max(1, settings.concurrency // 16)
    return min(64, max(8, settings.concurrency))


def _paid_models(settings: Settings) -> list[str]:
    local = settings.models == "local"
    return [] if local else [settings.embedding_model_name, settings.summary_model_name]

"""SummaryTree and AsyncSummaryTree on a planted corpus."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tree_builder.errors import ConfigError, NotFound
from tree_builder.model import NodeType
from tree_builder.query import AsyncSummaryTree, SummaryTree
from tree_builder.testing import oracle
from tree_builder.testing.endpoint import EndpointConfig, Faults, SimulatedEndpoint
from tree_builder.testing.fakes import FakeEmbedder
from tree_builder.testing.planting import DIMENSIONS, SAMPLE_FILES, Planted, plant


@pytest.fixture
def tree(database_url: str, planted: Planted) -> Iterator[SummaryTree]:
    with SummaryTree.open(database_url, embedder=FakeEmbedder(DIMENSIONS)) as tree:
        yield tree


def test_summary_answers_for_every_path(tree: SummaryTree) -> None:
    """A document, a directory with and without a slash, and the corpus have their summaries."""
    assert tree.summary("boats/sails.pdf").nodes[0].node_type is NodeType.DOC_TOP
    assert tree.summary("kitchen/soup/").nodes[0].node_type is NodeType.DIR_TOP
    assert tree.summary("./kitchen").path == "kitchen"
    assert tree.summary().nodes[0].node_type is NodeType.ROOT
    assert str(tree.summary()) == tree.summary().content


def test_unknown_path_is_not_found(tree: SummaryTree) -> None:
    """A path which is not in the tree raises NotFound, naming it."""
    with pytest.raises(NotFound, match=r"no/such\.pdf"):
        tree.summary("no/such.pdf")


def test_level_zero_is_the_text(tree: SummaryTree, planted: Planted) -> None:
    """The cut at level 0 of a document is its text, overlaps removed."""
    assert tree.summary("boats/sails.pdf", level=0).content == planted.texts["boats/sails.pdf"]


def test_walking_down_and_up(tree: SummaryTree, planted: Planted) -> None:
    """Children, ancestors, leaves and subtree agree with each other."""
    top = tree.summary("boats/sails.pdf").nodes[0]
    leaves = tree.leaves(top)
    assert "".join(leaf.content[leaf.overlap :] for leaf in leaves) == planted.texts["boats/sails.pdf"]
    above = tree.ancestors(leaves[0])
    assert above[-1].node_type is NodeType.ROOT
    assert top in above
    assert tree.children(top)[0] in above
    below = tree.subtree(top)
    assert below[0] == (0, top)
    assert [node for _, node in below if node.node_type is NodeType.CHUNK] == leaves
    assert tree.subtree(top, depth=1) == [pair for pair in below if pair[0] <= 1]
    assert tree.get(str(top.node_id)) == top


def test_nodes_iterates_in_document_order(tree: SummaryTree) -> None:
    """nodes() gives what a filter lets through, in document order, across blocks."""
    chunks = list(tree.nodes(types="chunk"))
    assert {chunk.doc_path for chunk in chunks} == set(SAMPLE_FILES)
    assert [c.char_start for c in chunks if c.doc_path == "kitchen/bread.md"] == sorted(
        c.char_start or 0 for c in chunks if c.doc_path == "kitchen/bread.md"
    )
    assert {node.dir_path for node in tree.nodes("kitchen")} == {"kitchen", "kitchen/soup"}
    assert all(node.level == 1 for node in tree.nodes(level=1))
    assert len(list(tree.nodes())) > len(chunks)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
def test_search_finds_the_topic(tree: SummaryTree, mode: str) -> None:
    """Each mode brings up the document a query is about, with its path of summaries and the words found."""
    hits = tree.search("yeast and dough", k=5, mode=mode)  # type: ignore[arg-type]
    assert len(hits) == 5
    assert hits.mode == mode
    best = hits[0]
    assert best.path.startswith("kitchen")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    chunk = next(hit for hit in tree.search("yeast dough", types="chunk", mode=mode))  # type: ignore[arg-type]
    assert chunk.above[0].node_type is NodeType.ROOT
    assert chunk.above[-1].node_id == chunk.parent_id
    assert {chunk.content[a:b].lower() for a, b in chunk.words} <= {"yeast", "dough"}
    assert chunk.words


def test_search_filters(tree: SummaryTree) -> None:
    """Directory, document, type, level, pages and offset narrow a search; k hits are still found."""
    assert {hit.dir_path for hit in tree.search("the note", in_="boats/")} == {"boats"}
    assert {hit.doc_path for hit in tree.search("the note", in_="boats/sails.pdf")} == {"boats/sails.pdf"}
    assert {hit.node_type for hit in tree.search("the note", types=["doc_top", NodeType.ROOT])} == {"doc_top", "root"}
    assert {hit.level for hit in tree.search("the note", level=1)} == {1}
    assert all(hit.page_start <= 2 <= hit.page_end for hit in tree.search("note", types="chunk", pages=(2, 2)))  # type: ignore[operator]
    first, second = tree.search("onion", k=6), tree.search("onion", k=3, offset=3)
    assert [hit.node_id for hit in first[3:]] == [hit.node_id for hit in second]


def test_similar_leaves_itself_out(tree: SummaryTree) -> None:
    """Nodes similar to a passage are of its topic, and it is not among them."""
    chunk = next(tree.nodes("kitchen/bread.md", types="chunk"))
    near = tree.similar(chunk, k=3, types="chunk")
    assert {hit.doc_path for hit in near} == {"kitchen/bread.md"}
    assert chunk.node_id not in {hit.node_id for hit in near}


def test_walk_tells_its_way(tree: SummaryTree) -> None:
    """A walk follows at most `beam` nodes a depth and arrives at passages of the topic, from the root."""
    walk = tree.walk("piston fuel diesel", beam=2)
    assert walk.hits[0].doc_path == "boats/engines.pdf"
    assert all(len(step.kept) <= 2 for step in walk.steps)
    assert [step.depth for step in walk.steps] == list(range(1, len(walk.steps) + 1))
    for hit in walk.hits:
        assert hit.above[0].node_type is NodeType.ROOT
        assert hit.above[-1].node_id == hit.parent_id


def test_merge_takes_the_node_above(tree: SummaryTree) -> None:
    """Hits on all chunks of a document become one hit, its top; a single hit stays."""
    chunks = tree.search("flour yeast dough", k=100, types="chunk", in_="kitchen/bread.md")
    merged = tree.merge(chunks)
    assert [hit.doc_path for hit in merged] == ["kitchen/bread.md"]
    assert merged[0].node_type is not NodeType.CHUNK
    assert merged[0].score == chunks[0].score
    assert [hit.node_id for hit in tree.merge(chunks[:1])] == [chunks[0].node_id]


def test_summary_of_an_earlier_run(database_url: str, tree: SummaryTree, planted: Planted) -> None:
    """A summary can be read as it was at a run or a time; a time before the first run is not found."""
    before = tree.summary("boats")
    moment = datetime.now(UTC)
    later = plant(database_url, {"boats/sails.pdf": "Everything is new here. " * 30})
    assert tree.summary("boats").content != before.content
    assert tree.summary("boats", at=planted.run_id).content == before.content
    assert tree.summary("boats", at=moment).content == before.content
    assert tree.summary("boats/sails.pdf", level=0, at=planted.run_id).content == planted.texts["boats/sails.pdf"]
    assert tree.summary(at=later.run_id).run_id == later.run_id
    with pytest.raises(NotFound, match="kitchen"):
        tree.summary("kitchen")
    with pytest.raises(NotFound, match="no run"):
        tree.summary(at=moment - timedelta(days=1))
    with pytest.raises(NotFound, match="no published run 999"):
        tree.summary(at=999)


def test_diff_between_runs(database_url: str, tree: SummaryTree, planted: Planted) -> None:
    """A diff names what was added, removed, changed and moved."""
    with pytest.raises(NotFound, match="none to compare"):
        tree.diff()
    files = {path: text for path, text in SAMPLE_FILES.items() if path != "single.txt"}
    files["kitchen/new.md"] = files.pop("kitchen/bread.md")
    files["boats/engines.pdf"] = "Rewritten from the first word. " * 30
    files["boats/oars.pdf"] = "Oars are long and wet. " * 30
    later = plant(database_url, files)
    diff = tree.diff()
    assert (diff.run_a, diff.run_b) == (planted.run_id, later.run_id)
    documents = {(c.kind, c.path) for c in diff.changes if c.what == "document"}
    assert documents == {
        ("added", "boats/oars.pdf"),
        ("changed", "boats/engines.pdf"),
        ("moved", "kitchen/new.md"),
        ("removed", "single.txt"),
    }


def test_documents_and_corpora(tree: SummaryTree) -> None:
    """Documents and corpora are listed with their summaries."""
    assert [d.doc_path for d in tree.documents("kitchen")] == ["kitchen/bread.md", "kitchen/soup/onion.txt"]
    assert [c.corpus for c in tree.corpora()] == ["papers"]
    assert tree.corpora()[0].summary == tree.summary().content
    assert tree.corpora()[0].n_documents == len(SAMPLE_FILES)


def test_several_corpora_need_a_name(database_url: str, tree: SummaryTree) -> None:
    """With two corpora one has to be named, and each answers for itself."""
    plant(database_url, {"a.txt": "Another corpus. " * 5}, corpus="other")
    with pytest.raises(ConfigError, match="other, papers"):
        tree.summary()
    with SummaryTree.open(database_url, "other", embedder=FakeEmbedder(DIMENSIONS)) as other:
        assert [d.doc_path for d in other.documents()] == ["a.txt"]
        assert {hit.corpus for hit in other.search("corpus note")} == {"other"}
    with SummaryTree.open(database_url, "none") as none, pytest.raises(NotFound, match="'none'"):
        none.summary()


def test_nothing_is_sent_to_a_service_unasked(database_url: str) -> None:
    """A corpus with a service's vectors is searched by words alone, with a warning, unless the settings name the service."""
    plant(database_url, SAMPLE_FILES, model="text-embedding-3-small")
    with SummaryTree.open(database_url) as tree:
        hits = tree.search("yeast and dough")
        assert hits.mode == "text"
        assert "models = 'openai'" in hits.warning
        assert hits[0].path.startswith("kitchen")
        assert "models = 'openai'" in tree.context("yeast", 500).warning
        with pytest.raises(ConfigError, match="openai"):
            tree.walk("yeast")


def test_a_service_is_asked_where_the_settings_name_it(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With models = openai the query, and nothing else, is sent to the service; when it fails, words alone answer."""
    plant(database_url, SAMPLE_FILES, model="text-embedding-3-small", vectors=lambda text: oracle.vector(text, 1536))
    with SimulatedEndpoint(EndpointConfig(scale=0)) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        with SummaryTree.open(database_url, models="openai", max_attempts=1) as tree:
            hits = tree.search("yeast and dough")
            assert (hits.mode, hits.warning) == ("hybrid", "")
            assert [call.kind for call in endpoint.calls] == ["embed"]
            endpoint.configure(EndpointConfig(scale=0, faults=Faults(server_error=1.0)))
            assert tree.search("flour").mode == "text"


async def test_async_tree_gives_the_same(database_url: str, planted: Planted) -> None:
    """AsyncSummaryTree and SummaryTree give equal results."""
    async with AsyncSummaryTree.open(database_url, embedder=FakeEmbedder(DIMENSIONS)) as tree:
        hits = await tree.search("yeast")
        nodes = [node async for node in tree.nodes(types="chunk")]
    with SummaryTree.open(database_url, embedder=FakeEmbedder(DIMENSIONS)) as blocking:
        assert blocking.search("yeast") == hits
        assert list(blocking.nodes(types="chunk")) == nodes
        assert repr(blocking) == "SummaryTree(corpus=None)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.search("a", k=0), "k = 0"),
        (lambda t: t.search("a", mode="fuzzy"), "mode = 'fuzzy'"),
        (lambda t: t.search("a", types="chapter"), "chapter"),
        (lambda t: t.search("a", offset=-1), "offset"),
        (lambda t: t.children("not an id"), "not an id"),
        (lambda t: t.walk("a", beam=0), "beam"),
        (lambda t: t.context("a", -1), "budget_tokens"),
        (lambda t: t.summary(budget_tokens=0), "budget_tokens"),
        (lambda t: t.summary(budget_tokens=1), "more than the budget"),
    ],
)
def test_wrong_arguments_are_told(tree: SummaryTree, call: object, message: str) -> None:
    """An argument which cannot be used raises ConfigError, naming it."""
    with pytest.raises(ConfigError, match=message):
        call(tree)  # type: ignore[operator]


def test_unknown_node_is_not_found(tree: SummaryTree) -> None:
    """An id which no published node has is not found, or has nothing around it."""
    with pytest.raises(NotFound):
        tree.get(uuid.uuid4())
    assert tree.children(uuid.uuid4()) == []

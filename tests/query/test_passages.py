"""Packing passages and cutting trees: plain functions, on made-up trees."""

from __future__ import annotations

import random
import uuid

from hypothesis import given, settings
from hypothesis import strategies as st

from tree_builder.model import NodeType
from tree_builder.query.cuts import Cut, cut_text
from tree_builder.query.passages import header, pack
from tree_builder.query.results import Context, Hit, Node, as_hit
from tree_builder.query.tokens import count_tokens

SIZE, OVERLAP, GROUP = 120, 30, 3
WORDS = [
    "boat",
    "sail",
    "rope",
    "oven",
    "bread",
    "flour",
    "engine",
    "valve",
    "pump",
    "onion",
    "soup",
    "pot",
    "1987",
    "Müller",
    "東京",
    "naïve",
]


def node(kind: NodeType, content: str, level: int, path: str | None, **values: object) -> Node:
    places = {"char_start": None, "char_end": None, "page_start": None, "page_end": None, "overlap": 0, **values}
    return Node(
        node_id=uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}{level}{path}{places['char_start']}"),
        corpus="c",
        node_type=kind,
        level=level,
        position=0,
        parent_id=None,
        doc_path=path,
        dir_path=".",
        title=None if path is None else f"Title of {path}",
        content=content,
        run_id=1,
        **places,  # type: ignore[arg-type]
    )


def grown(path: str, text: str) -> tuple[list[tuple[Node, tuple[Node, ...]]], dict[uuid.UUID, list[Node]], Node]:
    """Make a document's tree: its chunks with the nodes above them, the children of each node, and its top."""
    starts = range(0, max(1, len(text) - OVERLAP), SIZE - OVERLAP)
    level = [
        node(
            NodeType.CHUNK, text[s : s + SIZE], 0, path,
            char_start=s, char_end=min(len(text), s + SIZE), page_start=s // 200 + 1, page_end=s // 200 + 1, overlap=min(s, OVERLAP),
        )
        for s in starts
    ]  # fmt: skip
    leaves, children, parents = level, {}, {}
    height = 0
    while len(level) > 1 or height == 0:
        height += 1
        groups = [level[i : i + GROUP] for i in range(0, len(level), GROUP)]
        kind = NodeType.DOC_TOP if len(groups) == 1 else NodeType.SUMMARY
        level = []
        for items in groups:
            above = node(
                kind,
                f"About {items[0].content[:25]}",
                height,
                path,
                char_start=items[0].char_start,
                char_end=items[-1].char_end,
            )
            children[above.node_id] = items
            parents.update({item.node_id: above for item in items})
            level.append(above)
    return [(leaf, way(leaf, parents)) for leaf in leaves], children, level[0]


def way(leaf: Node, parents: dict[uuid.UUID, Node]) -> tuple[Node, ...]:
    out: list[Node] = []
    while (up := parents.get((out[-1] if out else leaf).node_id)) is not None:
        out.append(up)
    return tuple(reversed(out))


def texts(seed: int) -> dict[str, str]:
    rng = random.Random(seed)
    return {
        f"{'d/' * (i % 2)}{i}.txt": " ".join(
            rng.choice(WORDS) + str(rng.randrange(99)) for _ in range(rng.randrange(5, 200))
        )
        for i in range(rng.randrange(1, 4))
    }


def hits_of(documents: dict[str, str], seed: int) -> list[Hit]:
    rng = random.Random(seed)
    leaves = [pair for path, text in documents.items() for pair in grown(path, text)[0]]
    picked = rng.sample(leaves, rng.randrange(0, len(leaves) + 1))
    picked += rng.sample(picked, len(picked) // 3)  # a passage may be named twice
    return [as_hit(leaf, score=1 - i / 1000, above=above) for i, (leaf, above) in enumerate(picked)]


def check(context: Context, documents: dict[str, str], budget: int) -> None:
    """The guarantees of a context."""
    assert context.tokens == count_tokens(context.text) <= budget
    places = []
    taken: dict[str, list[tuple[int, int, str]]] = {}
    for passage in context.passages:
        cite = passage.citation
        assert cite.char_start is not None
        assert cite.char_end is not None
        places.append((tuple(cite.path.split("/")), cite.char_start))
        if passage.kind == "passage":
            assert documents[cite.path][cite.char_start : cite.char_end] == passage.content
        for start, end, kind in taken.get(cite.path, []):
            # The ranges of neighbouring chunks overlap, and so do those of a summary and the chunk after it; their texts do not.
            slack = 0 if kind == passage.kind == "passage" else OVERLAP
            assert end <= cite.char_start + slack or cite.char_end <= start + slack
        taken.setdefault(cite.path, []).append((cite.char_start, cite.char_end, passage.kind))
    assert places == sorted(places)
    ids = [node_id for passage in context.passages for node_id in passage.node_ids]
    assert len(ids) == len(set(ids))


@given(seed=st.integers(0, 10**6), budget=st.integers(0, 1500))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_context_keeps_its_promises(seed: int, budget: int) -> None:
    """Never over budget, never a passage twice, in document order, every citation resolves to the same text."""
    documents = texts(seed)
    check(pack("q", hits_of(documents, seed), budget, count_tokens), documents, budget)


def test_neighbouring_chunks_are_one_passage() -> None:
    """Chunks beside each other are joined without what they repeat, under one header with all their pages."""
    text = " ".join(f"word{i}" for i in range(200))
    leaves = grown("a.txt", text)[0]
    context = pack("q", [as_hit(leaf, score=1, above=above) for leaf, above in leaves], 5000, count_tokens)
    assert [passage.content for passage in context.passages] == [text]
    assert context.passages[0].header == "[a.txt] · Title of a.txt · pp. 1-8"


def test_a_summary_stands_for_passages_which_do_not_fit() -> None:
    """Where a passage is too long for the budget, the nearest summary above it which fits is taken."""
    leaves = grown("a.txt", " ".join(f"word{i}" for i in range(100)))[0]
    leaf, above = leaves[-1]
    budget = count_tokens(f"{header('a.txt', 'Title of a.txt', None, None)} · summary\n{above[-1].content}") + 2
    context = pack("q", [as_hit(leaf, score=1, above=above)], budget, count_tokens)
    assert [(p.kind, p.node_ids) for p in context.passages] == [("summary", (above[-1].node_id,))]


def test_a_header_is_one_harmless_line() -> None:
    """Line breaks and control characters of paths and titles become spaces."""
    assert header("a\n[b.txt]", "Two\nlines\x1b[0m", 3, 4) == "[a [b.txt]] · Two lines [0m · pp. 3-4"


@given(seed=st.integers(0, 10**6), budget=st.integers(20, 3000))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_a_cut_covers_all_and_fits(seed: int, budget: int) -> None:
    """A cut covers every chunk exactly once, in order, and fits its budget when its top does."""
    text = texts(seed)["0.txt"]
    leaves, children, top = grown("0.txt", text)
    cut = Cut(top, 0, budget, count_tokens)
    while wanting := cut.wanting():
        cut.open({node_id: children[node_id] for node_id in wanting})
    nodes, content, tokens = cut.finish()
    assert tokens == count_tokens(content)
    assert tokens <= budget or nodes == [top]
    below = [leaf for item in nodes for leaf, above in leaves if leaf == item or item in above]
    assert below == [leaf for leaf, _ in leaves]


def test_a_cut_without_limits_is_the_text() -> None:
    """Opened to the end, a cut is the document's text; at a level, it has no node above it."""
    text = texts(7)["0.txt"]
    _, children, top = grown("0.txt", text)
    whole = Cut(top)
    while wanting := whole.wanting():
        whole.open({node_id: children[node_id] for node_id in wanting})
    assert whole.finish()[1] == text
    cut = Cut(top, min_level=1)
    while wanting := cut.wanting():
        cut.open({node_id: children[node_id] for node_id in wanting})
    assert max(item.level for item in cut.nodes()) == 1


def test_a_cut_over_several_documents_names_them() -> None:
    """The text of a cut has a header where the document changes, and none when there is one document only."""
    a, b = (grown(path, "Some words here.")[2] for path in ("a.txt", "b.txt"))
    assert cut_text([a]) == a.content
    assert cut_text([a, b]) == f"[a.txt] · Title of a.txt\n{a.content}\n\n[b.txt] · Title of b.txt\n{b.content}"

"""Search: what is found, how it came about, and that filters keep finding k."""

import json

import psycopg
import pytest
from sql_rows import column, rows

from tree_builder.testing.forest import REPORTS, plant, vector

FEW = "select * from tree_builder.search({})"


def near(connection, text, **filters):
    given = "".join(f", {name} => %({name})s" for name in filters)
    return connection.execute(
        f"select content, node_type, doc_path, similarity from tree_builder.search_vector(%(vector)s::text::vector{given})",
        {"vector": json.dumps(vector(text)), **filters},
    ).fetchall()


def test_the_same_text_is_nearest(reports):
    """A query with the vector of a passage finds that passage first, with similarity 1."""
    content, node_type, doc_path, similarity = near(reports, "eels in the estuary")[0]
    assert (content, node_type, doc_path) == ("eels in the estuary", "chunk", "a/beta.txt")
    assert similarity == pytest.approx(1, abs=1e-5)


def test_a_promoted_item_is_given_once(reports):
    """A lone passage is chunk, document and directory summary at once; it is one hit, the passage."""
    hits = near(reports, "iron ore and coal", k=20)
    assert [h[1] for h in hits if h[0] == "iron ore and coal"] == ["chunk"]
    only_tops = near(reports, "iron ore and coal", k=20, node_types=["doc_top", "dir_top"])
    assert [h[1] for h in only_tops if h[0] == "iron ore and coal"] == ["doc_top"]
    only_directories = near(reports, "iron ore and coal", k=20, node_types=["dir_top"])
    assert [h[1] for h in only_directories if h[0] == "iron ore and coal"] == ["dir_top"]


def test_equal_passages_of_two_documents_are_two_hits(connection):
    """The same words in two files are found in both."""
    plant(connection, "c", {"x.txt": ["one two", "three"], "y.txt": ["one two", "four"]})
    assert [h[2] for h in near(connection, "one two", k=2)] == ["x.txt", "y.txt"]


@pytest.mark.parametrize("indexed", [False, True])
def test_filters(reports, indexed):
    """Each filter leaves exactly the nodes it names, by index and without."""
    if indexed:
        statement = column(
            reports, "select tree_builder.vector_index_statement(model_id) from tree_builder.embedding_models"
        )
        reports.execute(statement[0])

    def paths(**filters):
        return {h[2] for h in near(reports, "apple orchards", k=50, **filters)}

    assert paths(directory="a/deep") == {"a/deep/gamma.txt"}
    assert paths(directory="a", max_level=3) == {None, "a/alpha.txt", "a/beta.txt", "a/deep/gamma.txt"}
    assert paths(directory="a/", node_types=["chunk"]) == {"a/alpha.txt", "a/beta.txt", "a/deep/gamma.txt"}
    assert paths(document="a/beta.txt") == {"a/beta.txt"}
    assert paths(directory="a/beta.txt") == {"a/beta.txt"}
    assert paths(directory="nowhere") == set()
    assert {h[1] for h in near(reports, "apple", k=50, node_types=["doc_top", "root"])} == {"doc_top", "root"}
    assert {h[0] for h in near(reports, "apple", k=50, first_page=3, last_page=3, min_level=0, max_level=0)} == {
        "cider presses and casks",
        "herons by the river",
    }
    assert {h[1] for h in near(reports, "apple", k=50, min_level=2)} == {"dir_top", "root"}
    assert len(near(reports, "apple", k=3)) == 3
    assert near(reports, "apple", k=50, min_score=2.0) == []


def test_run_time_filter(reports):
    """`since` and `before` part what an earlier run wrote from what a later one did."""
    between = column(reports, "select clock_timestamp()")[0]
    plant(reports, "reports", {**REPORTS, "b/new.txt": ["lanterns at dusk", "moths around them"]})
    newer = {h[2] for h in near(reports, "lanterns", k=50, since=between, node_types=["chunk"])}
    older = {h[2] for h in near(reports, "lanterns", k=50, before=between, node_types=["chunk"])}
    assert newer == {"b/new.txt"}
    assert older == {path for path in REPORTS if REPORTS[path]}


def test_pages_of_hits_join_up(reports):
    """Skipping gives the same order as asking for all at once."""
    together = [h[0] for h in near(reports, "river", k=12)]
    apart = [h[0] for skip in (0, 4, 8) for h in near(reports, "river", k=4, skip=skip)]
    assert apart == together


def test_words_are_joined_with_or_and_rare_ones_weigh_more(connection):
    """No passage has all words; the one with the rare word is first."""
    plant(
        connection,
        "c",
        {f"{i}.txt": [f"common ground number {i}", f"common sense {i}"] for i in range(30)}
        | {"rare.txt": ["a heliotrope on common ground", "something else"]},
    )
    connection.execute("analyze tree_builder.texts")
    hits = column(connection, "select content from tree_builder.search_text('common heliotrope elsewhere', 3)")
    assert hits[0] == "a heliotrope on common ground"
    assert len(hits) == 3


def test_words_are_reduced_by_the_language_of_the_document(connection):
    """A German query finds other forms of its words in German documents, an English one in English ones."""
    plant(connection, "en", {"x.txt": ["the mills were grinding", "nothing else"]})
    plant(connection, "de", {"y.txt": ["die Mühlen mahlten das Korn", "sonst nichts"]}, language="de")
    plant(connection, "xx", {"z.txt": ["molinoj muelas", "nenio"]}, language=None)
    assert column(connection, "select doc_path from tree_builder.search_text('mill grind')") == ["x.txt"]
    assert column(connection, "select doc_path from tree_builder.search_text('Mühle')") == ["y.txt"]
    assert column(connection, "select doc_path from tree_builder.search_text('molinoj', node_types => '{chunk}')") == [
        "z.txt"
    ]
    assert column(connection, "select doc_path from tree_builder.search_text('the and')") == []


def test_quotes_demand_and_minus_excludes(reports):
    """A phrase in quotes must be there as it is, an excluded word must not."""

    def find(words):
        return column(reports, "select content from tree_builder.search_text(%s, node_types => '{chunk}')", words)

    assert find('"barley fields"') == ["barley fields after rain"]
    assert find('"fields barley"') == []
    assert "eels in the estuary" not in find("eels estuary harbour -eels")
    assert find("harbour -eels") == ["dolphins near the harbour"]


def test_both_searches_are_fused(reports):
    """A hit of both tells its places in both; each candidate has both scores; either fusion puts the best of both first."""
    for fusion in ("scores", "ranks"):
        hit = rows(
            reports,
            "select content, vector_place, text_place, similarity, text_score from tree_builder.search("
            "'herons river', %s::text::vector, 5, fusion => %s)",
            json.dumps(vector("herons by the river")),
            fusion,
        )[0]
        assert hit[:3] == ("herons by the river", 1, 1)
    scores = rows(
        reports,
        "select similarity, text_score from tree_builder.search('herons', %s::text::vector, 20)",
        json.dumps(vector("falcons above the cliffs")),
    )
    assert all(similarity is not None and text_score is not None for similarity, text_score in scores)


def test_vectors_of_another_model_are_refused(reports):
    """A vector of the wrong length names the model which it should be of; two models of one length are told apart by name."""
    with pytest.raises(psycopg.errors.DataException, match="3 dimensions") as caught:
        reports.execute("select * from tree_builder.search_vector('[1,2,3]')")
    assert "words of 16 dimensions" in (caught.value.diag.message_hint or "")
    plant(reports, "other", {"x.txt": ["eels in the estuary"]}, model="others")
    with pytest.raises(psycopg.errors.AmbiguousParameter, match="several models"):
        near(reports, "eels")
    assert {h[2] for h in near(reports, "eels", k=50, model="others")} == {"x.txt"}
    assert near(reports, "eels in the estuary", corpus="reports")[0][2] == "a/beta.txt"


def test_corpora_of_different_models_share_texts_not_vectors(reports):
    """The same passage in a corpus of another model is found by that model's vector only."""
    plant(reports, "small", {"x.txt": ["eels in the estuary"]}, model="small", dimensions=4)
    small = json.dumps(vector("eels in the estuary", 4))
    assert column(reports, "select distinct corpus from tree_builder.search_vector(%s::text::vector)", small) == [
        "small"
    ]
    assert {h[2] for h in near(reports, "eels in the estuary", k=50, document="x.txt")} == set()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'x', k => 0", "k = 0"),
        ("'x', k => 1001", "k = 1001"),
        ("'x', k => null", "k ="),
        ("'x', skip => -1", "skip"),
        ("'x', fusion => 'magic'", "fusion"),
        ("'x', node_types => '{chunk,leaf}'", "no node type 'leaf'"),
        ("'x', corpus => 'nowhere'", "no corpus 'nowhere'"),
        ("null, array_fill(0, array[16])::vector", "zero"),
    ],
)
def test_wrong_arguments_are_told(reports, arguments, message):
    """What cannot be used is refused by name."""
    with pytest.raises(psycopg.Error, match=message):
        reports.execute(FEW.format(arguments))


def test_nothing_asked_nothing_found(reports):
    """No words and no vector, or words which are all stop words: no hits, no error."""
    for words in (None, "", "the", "-", '""', "  \n"):
        assert rows(reports, "select * from tree_builder.search(%s)", words) == []


def test_similar_leaves_out_the_node_and_its_twins(reports):
    """The nodes most like a lone passage do not include the tops which carry its content."""
    node = column(reports, "select node_id from tree_builder.nodes where content = 'iron ore and coal' and level = 0")[
        0
    ]
    found = column(reports, "select content from tree_builder.similar(%s, 50)", node)
    assert "iron ore and coal" not in found
    assert len(found) > 10
    assert rows(reports, "select place, vector_place from tree_builder.similar(%s, 3)", node) == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]


def test_words_which_mean_nothing_are_passed_over_in_silence(reports):
    """Stop words alone find nothing, and no notice of the server disturbs who asked."""
    notices = []
    reports.add_notice_handler(notices.append)
    assert rows(reports, "select * from tree_builder.search_text('and the -of \"to be\"')") == []
    assert notices == []


def test_headline_marks_the_words(reports):
    """Words in any form are marked, whatever marks the text itself holds."""
    marked = column(
        reports, "select tree_builder.headline(%s, 'orchard apples', 'en')", "An apple \x02and\x03 two orchards"
    )
    assert marked == ["An \x02apple\x03 and two \x02orchards\x03"]
    assert column(reports, "select tree_builder.headline('as it is', 'the', 'en')") == ["as it is"]


def test_unpublished_nodes_are_not_found(reports):
    """What a run has staged and not published, or an earlier run had, is found by nobody."""
    reports.execute("update tree_builder.node set since_run = since_run + 1000000 where doc_path = 'a/beta.txt'")
    assert "a/beta.txt" not in {h[2] for h in near(reports, "eels in the estuary", k=50)}
    assert (
        column(reports, "select doc_path from tree_builder.search_text('eels dolphins', node_types => '{chunk}')") == []
    )


def test_settings_of_the_session_are_left_alone(reports):
    """A search changes no setting beyond its own end."""
    names = "select string_agg(current_setting(n, true), ',') from unnest(array['hnsw.ef_search', 'hnsw.iterative_scan', 'jit', 'search_path']) as n"
    near(reports, "x")
    before = column(reports, names)
    with reports.transaction():
        near(reports, "eels", k=500)
        assert column(reports, names) == before


def test_vectors_which_are_not_indexed_yet_are_found(reports):
    """Where the index gives fewer than k, the rest is compared one by one: k are found all the same."""
    statement = "select tree_builder.vector_index_statement(model_id) from tree_builder.embedding_models"
    reports.execute(column(reports, statement)[0])
    reports.execute("update tree_builder.vectors set indexed = false")
    assert len(near(reports, "eels in the estuary", k=10)) == 10
    assert near(reports, "eels in the estuary")[0][0] == "eels in the estuary"

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_builder.models.local.faults import SOFT, Fault
from tree_builder.models.local.sentences import opens, sentences, tells_of_the_whole

GOOD = "The committee met in March and agreed on the new budget."


def texts(text: str) -> list[str]:
    return [s.text for s in sentences(text)]


def faults_of(text: str) -> Fault:
    found = list(sentences(text))
    assert len(found) == 1, [s.text for s in found]
    return found[0].faults


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith paid $3.50 to Acme Inc. in May. Mr. Jones left.", ["Dr. Smith paid $3.50 to Acme Inc. in May.", "Mr. Jones left."]),
        ("Das gilt z.B. für Kunden. Am 3. Mai kam Herr Dr. Müller.", ["Das gilt z.B. für Kunden.", "Am 3. Mai kam Herr Dr. Müller."]),
        ("M. Dupont est là. Il est venu hier.", ["M. Dupont est là.", "Il est venu hier."]),
        ("你好世界。这是一个测试！我们走吧。", ["你好世界。", "这是一个测试！", "我们走吧。"]),
        ("彼は「行くぞ。」と言った。雨が降った。", ["彼は「行くぞ。」", "と言った。", "雨が降った。"]),
        ("The buyer is Acme Inc. The price is in Art. 5 of the law.", ["The buyer is Acme Inc.", "The price is in Art. 5 of the law."]),
        ("أين القاهرة؟ تقع على النيل.", ["أين القاهرة؟", "تقع على النيل."]),
        ("Set the parameter (if there is one). text_color-name sets it.", ["Set the parameter (if there is one).", "text_color-name sets it."]),
        ("First paragraph ends here.\n\nSecond one begins.", ["First paragraph ends here.", "Second one begins."]),
        ("", []),
        ("--- *** ...", []),
    ],
)  # fmt: skip
def test_sentences_end_where_they_end(text: str, expected: list[str]):
    """Abbreviations, ordinals and amounts end no sentence; full stops of Chinese and Japanese do."""
    assert texts(text) == expected


def test_lines_of_a_wrapped_text_are_joined():
    """In a text with hard line breaks a sentence runs over them; an empty line and a list marker still divide."""
    wrapped = (
        "The first sentence of this text runs over the end of\nits line and ends here. The second one is\nwrapped as well.\n\n"
        "- An item of a list which is long enough to be wrapped\n  and so goes on.\n- Another item of that list stands here.\n"
    )
    assert texts(wrapped) == [
        "The first sentence of this text runs over the end of its line and ends here.",
        "The second one is wrapped as well.",
        "An item of a list which is long enough to be wrapped and so goes on.",
        "Another item of that list stands here.",
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("2.1 The Buyer shall pay the price in full.", "The Buyer shall pay the price in full."),
        ("(a) The Buyer shall pay the price in full.", "The Buyer shall pay the price in full."),
        ("• The Buyer shall pay the price in full.", "The Buyer shall pay the price in full."),
        ("•The Buyer shall pay the price in full.", "The Buyer shall pay the price in full."),
        ("Description This parameter sets the width of the margin.", "This parameter sets the width of the margin."),
        (
            "Note that the width of the margin is set by a parameter.",
            "Note that the width of the margin is set by a parameter.",
        ),
        ("4 Some systems have a link there in its place.", "Some systems have a link there in its place."),
        ("12 May 1998 is the day on which it came into force.", "12 May 1998 is the day on which it came into force."),
        (
            "Section 4.2 Integrity will act as underwriter of the shares.",
            "Integrity will act as underwriter of the shares.",
        ),
        ("14. SHIPPING ADVICE: The seller shall tell the buyer of it.", "The seller shall tell the buyer of it."),
        ("TERM; TERMINATION The initial term shall be three years.", "The initial term shall be three years."),
        (
            "NMS COMMUNICATIONS CORP shall pay the price in full.",
            "NMS COMMUNICATIONS CORP shall pay the price in full.",
        ),
        (
            "Section 2 of the law applies to all of the sales here.",
            "Section 2 of the law applies to all of the sales here.",
        ),
    ],
)
def test_markers_and_run_in_headings_are_left_off(text: str, left: str):
    """What numbers or titles a sentence is not quoted with it; what belongs to it is."""
    assert texts(text) == [left]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Powers and Authority of the Joint Venturers.", Fault.HALF),
        ("104 West 29th Street 11th Floor, New York, NY 10001.", Fault.HALF),
        ("and the parties agree to the terms of the contract.", Fault.HALF),
        ("The parties agree to the following terms of the contract:", Fault.HALF),
        ("May also be specified as the second of the options.", Fault.HALF),
        ("The version number and the release date of the shell.", Fault.HALF),
        ("The compiler used to compile the shell of the system.", Fault.HALF),
        ("A row of the tree: a chunk, a summary, or the top of a document, a directory or the corpus.", Fault.HALF),
        ("The name of this file is taken from the value of a variable.", Fault.DANGLING),
        ("While reading this note one should keep the others in mind.", Fault.DANGLING),
        ("If that does not work, the maintainer should be asked for help.", Fault.DANGLING),
        ("The trap is normally not inherited by the shell in such cases.", Fault.DANGLING),
        ("In the above example the key is bound to the second function.", Fault.DANGLING),
        ("Generic configuration files of the systems are installed here.", Fault.DANGLING),
        ("Indicates that the maintainers may upload it to the archive.", Fault.DANGLING),
        ("Each returns exactly one row of the table of the documents.", Fault.DANGLING),
        ("The line names the folder, the corpus and the database of the run.", Fault.DANGLING),
        ("’, the value is the negation of the test of the other arguments.", Fault.HALF),
        ("Expands to the exit status of the command which was run last.", Fault.DANGLING),
        ("Fortunately, there is an address by which all of them are reached.", Fault.DANGLING),
        ("4 On some systems, the entry may be a link to another file.", Fault.DANGLING),
        ('Parameters color="red"An HTML color value is meant by the word.', Fault.CODE),
        ("It is explained in The Complete Guide11 http://www.sagehill.net of the year.", Fault.CODE),
        ("Before you invest, you should read the prospectus of the issuer.", Fault.BOILERPLATE),
        ("Release notes of the first version: changes of syntax w.r.t.", Fault.HALF),
        ("The latest version can be viewed on the pages at https://www.", Fault.HALF),
        ("−i If the option is present, the shell is interactive.", Fault.HALF),
        ("~ (plus, full stop, tilde) and is compared in the same way as the version of the package is.", Fault.HALF),
        ("However, the committee did not agree on the new budget.", Fault.DANGLING),
        ("This was not what the committee had agreed on in March.", Fault.DANGLING),
        ("Any of such measures shall be at the expense of the owner.", Fault.DANGLING),
        ("Daher hat der Ausschuss dem neuen Haushalt nicht zugestimmt.", Fault.DANGLING),
        ("Cependant, le comité a rejeté le budget de cette année.", Fault.DANGLING),
        ("因此委员会在三月没有通过新的预算案并决定推迟表决。", Fault.DANGLING),
        ("The first asks for the summary of a document of the corpus.", Fault.DANGLING),
        ("Beside it lie the guides for those who operate the program.", Fault.DANGLING),
        ("Bei Tag zeigt er durch seine Farbe den Punkt der Küste.", Fault.PRONOUN),
        ("She had never seen the harbour of the old town before.", Fault.PRONOUN),
        ("What did the committee agree on in the month of March?", Fault.QUESTION),
        ("OK, now that I know what it is, what then is a kernel?!", Fault.QUESTION),
        ("The committee (which met in March agreed on the new budget.", Fault.BRACKETS),
        ('The committee called it "the new budget of the year.', Fault.BRACKETS),
        ("Bolts | 12 | 3.50 | 42.00 were ordered from the supplier.", Fault.TABLE),
        ("The contract is signed by buyer and seller on , in Hong Kong.", Fault.TABLE),
        ("Introduction to the shell .......... 7 and its many options.", Fault.TABLE),
        ("The fee is [*****] and shall be paid within thirty days.", Fault.TABLE),
        ("Run for x in $LIST; do echo $x && rm -f $x; done to see it.", Fault.CODE),
        ("<xsl:param name=size></xsl:param> The width of the table in pixels.", Fault.CODE),
        ("Read the commands from filename.Ifthe name has no slash it fails.", Fault.CODE),
        ("THE SELLER MAKES NO WARRANTY OF ANY KIND FOR THE GOODS.", Fault.CAPITALS),
        ("NB: THIS SECTION IS LARGELY IRRELEVANT since the last version came out.", Fault.CAPITALS),
        ("Copyright 2019 by the authors of the whole of this document.", Fault.BOILERPLATE),
        ("Permission is granted to copy and distribute this document.", Fault.BOILERPLATE),
        ("By the buyer: /s/ Steven Malin as director of the company.", Fault.BOILERPLATE),
        ("See Section 3.2 for more about the commands of the shell.", Fault.POINTER),
        ("It works.", Fault.SHORT),
        ('"I told you so," he said to the captain of the ship.', Fault.SPEECH),
        ("• Software to predict the location of installed files.", Fault.LISTED),
        ("5 Host-specific data must not be stored in the shared folder.", Fault.LISTED),
        ("For details, please see the zeroaxis of the plot (p. 225).", Fault.POINTER),
        ("[HMM16] David Hauzar and Yannick Moy wrote on failures of proofs.", Fault.POINTER),
        (
            "In Werner Damm, editors, Conference on Verification of Programs, volume 12 of Notes in Science.",
            Fault.POINTER,
        ),
        ("(The value of the first will be the same as that of the second).", Fault.DANGLING),
        ("5 This implements what is current practice in the packages.", Fault.DANGLING),
        ("Dr. Avtar Dhillon can be reached at ad@dhillon.com.", Fault.SHORT),
        ("About this documentThis is generated reference documentation.", Fault.CODE),
        ("Set callout.defaultcolumncallout.graphics.extensioncallout.graphics.number to one.", Fault.CODE),
        ("Any capitalized term which is not defined here has the meaning of the law.", Fault.CLAUSE),
        ("The signatures may be given in several counterparts of the paper.", Fault.CLAUSE),
        ("If the option is set, the history is kept in a file of its own.", Fault.DETAIL),
        ("The value is taken from the variable (see the second chapter).", Fault.DETAIL),
        ("The value " + "of the very long list of many values " * 12 + "is set.", Fault.LONG),
    ],
)
def test_a_fault_is_seen(text: str, fault: Fault):
    """Each pattern of a fault which was found in extracts of real documents is seen."""
    assert fault in faults_of(text)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "Bash is an sh-compatible command language interpreter that executes commands from a file.",
        "tree_builder turns a folder of documents into a tree of summaries.",
        "The first step of the work is the cutting of the text.",
        "This manual describes the policy requirements for the distribution.",
        "This Outsourcing Agreement is made as of January 1, 1998, by and between Sykes, Inc., and HealthPlan, Inc.",
        "Der Ausschuss hat im März den neuen Haushalt für das Jahr beschlossen.",
        "Le comité a accepté le nouveau budget de l'année au mois de mars.",
        "委员会在三月举行会议并通过了今年的新预算案。",
        "Files under the directory /usr/local are not under the control of the system.",
        "Files which are read by the program lie in a folder of the user’s own.",
    ],
)
def test_a_plain_sentence_has_no_fault(text: str):
    """Plain sentences of several languages, also with names, paths and dates, are not suspected."""
    assert faults_of(text) == Fault.NONE


def test_the_beginning_of_a_broken_text_is_half_a_sentence():
    """A text which begins in the middle of a sentence, and a paragraph after one which was broken off, begin with a half."""
    first, second = sentences("Agreement and any other terms shall prevail. " + GOOD, begins_whole=False)
    assert (Fault.HALF in first.faults, second.faults) == (True, Fault.NONE)
    long = "In the event of a conflict between the terms which were agreed on and this"
    _, after = sentences(f"{long}\nAgreement and any of the terms shall prevail over it. ")
    assert Fault.HALF in after.faults


@pytest.mark.parametrize(
    "text",
    [
        "None of the packages in the archive require other software.",
        "A man came to the door of the old house by the harbour.",
        "The parties to this Agreement are bound by all of its terms.",
        "Nothing in these amendments will reduce the seller's obligations.",
        "12 May 1998 is the day on which the new law came into force.",
        "An der Küste steht ein alter Turm aus rotem Backstein am Hafen.",
        "Each document has exactly one summary of all of its passages.",
    ],
)
def test_what_only_looks_like_a_fault_is_none(text: str):
    """Sentences which resemble halves, footnotes or those which lean on others may be quoted."""
    assert not faults_of(text) & (Fault.HALF | Fault.DANGLING)


def test_an_opening_tells_of_the_whole():
    """Of a document's first sentences those are told apart which say what it is, and those about its making are none."""
    telling, other, making = (
        next(sentences(t))
        for t in (
            "Why3 is a platform for program verification.",
            GOOD,
            "The manual was originally prepared by Dick Crawford.",
        )
    )
    assert opens(telling)
    assert opens(other)
    assert not opens(making)
    assert tells_of_the_whole(telling)
    assert not tells_of_the_whole(other)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300) | st.text(alphabet='aB .,;()\n"-1。も', max_size=200))
def test_every_sentence_stands_in_its_text(text: str):
    """Whatever the text, each sentence stands in it, but for white space, in order, and has a letter or digit."""
    rest = " ".join(text.split())
    for sentence in sentences(text):
        assert any(c.isalnum() for c in sentence.text)
        assert sentence.text in rest
        rest = rest[rest.index(sentence.text) + len(sentence.text) :]


def test_soft_faults_are_not_all():
    """What only lowers a sentence's chances and what keeps it out are different things."""
    assert Fault.DANGLING in SOFT
    assert Fault.HALF not in SOFT

"""What speaks against quoting a sentence by itself. Plain functions, patterns and lists of words; runs inside a worker."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Flag, auto

SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
TERMINAL = re.compile(r"[.!?…。！？｡؟۔।॥։።။][)\]}”’\"'»«」』）】*]*$")
SMALL_NAME = re.compile(r"[a-z]+(?:_\w|[A-Z])[\w-]*\s")  # tree_builder, iPhone, path_to-file
_CUT_SHORT = re.compile(r"(?:\b(?:[a-z]\.){2,}|\bcf\.|https?://\S*|\bwww\.\S*)$")
# "~ (plus, full stop) and is", "$ ls", but "§ 5": what it belongs to stands before.
_SIGN_ALONE = re.compile(r"[^\w\s\"'“‘«„‚(\[¿¡] (?!\d)")
_QUESTION = re.compile(r"[?？؟]!?[)\]}”’\"'»«」』）】*]*$")


class Fault(Flag):
    """What speaks against quoting a sentence by itself."""

    NONE = 0
    HALF = auto()  # its beginning or its end is missing, or it is no sentence: a heading, a list item
    DANGLING = auto()  # leans on the sentence before it: However, This, It
    PRONOUN = auto()  # begins with he, she, they: leans a little
    QUESTION = auto()
    BRACKETS = auto()  # brackets or quotation marks which do not close
    TABLE = auto()  # cells, leaders, columns of numbers, blanks to fill in
    CODE = auto()
    CAPITALS = auto()
    BOILERPLATE = auto()  # copyright, licence, page furniture, notes of a publisher
    POINTER = auto()  # only leads elsewhere: See Section 3.2
    SHORT = auto()
    LONG = auto()
    SPEECH = auto()  # quoted speech, or words from an I to a you
    LISTED = auto()  # an item of a list, or a footnote: may be no sentence without what introduces it
    CLAUSE = auto()  # what stands in any contract: counterparts, severability, headings
    DETAIL = auto()  # a condition, or a reference to another place


SOFT = Fault.DANGLING | Fault.PRONOUN | Fault.SPEECH | Fault.LONG | Fault.LISTED | Fault.CLAUSE | Fault.DETAIL
"""Faults which lower a sentence's chances. All others keep it out while there is anything better."""


_DANGLING_STARTS = frozenset(
    re.findall(
        r"\S+",
        """
        however this these that those it its such therefore thus hence consequently accordingly moreover furthermore also besides
        otherwise instead nevertheless nonetheless but and or nor so yet then still conversely likewise similarly meanwhile additionally
        finally secondly thirdly further alternatively fortunately unfortunately again rather another others same latter former here which whose
        dies diese dieser dieses diesem diesen das daher deshalb deswegen dabei dazu damit davon darum jedoch aber und oder auch außerdem
        zudem ferner dann somit allerdings dennoch trotzdem hierbei hierzu hierfür solche solcher dessen deren es denn doch
        cela ceci cette ces cet ainsi donc mais et ou cependant toutefois néanmoins pourtant ensuite enfin aussi puis alors celui celle
        esto esta este estos estas ello pero además también entonces así luego
        questo questa questi queste ciò ma però inoltre quindi dunque anche isso isto mas também portanto assim
        dit deze dat maar dus echter ook daarom
        """,
    )
)
_DANGLING_PHRASES = (
    "in addition", "as a result", "for example", "for instance", "in this", "in these", "in such", "in that case", "at this", "by this", "at that",
    "to this end", "on the other hand", "of these", "as such", "in contrast", "even so", "after that", "after this", "for this", "as well",
    "with this", "in other words", "the same", "the latter", "the former", "the following", "the above", "the foregoing", "if so", "if not",
    "in the above", "in fact", "at the same time", "on the contrary", "by contrast", "even then", "all of these", "all of this", "each of these",
    "zum beispiel", "in diesem", "in dieser", "aus diesem", "par exemple", "en outre", "de plus", "dans ce", "par conséquent", "c'est", "c’est", "il est",
    "por ejemplo", "por lo tanto", "在此", "此外", "因此", "但是", "然而", "所以", "しかし", "また", "そして", "これ", "それ", "この", "その",
)  # fmt: skip
_ITSELF = re.compile(
    r"(?:this|these|the present|the purpose of this|dieses?r?|ce|cette|este|esta|questo|questa)\s+(?:[\w.#-]+\s+){0,3}?(?:agreement|amendment|contract|lease|"
    r"license|policy|document|documentation|manual|guide|handbook|book|chapter|report|paper|text|website|site|collection|corpus|series|volume|essay|page|article|study|standard|specification|"
    r"memorandum|letter|statement|notice|plan|appendix|exhibit|tutorial|introduction|program|software|package|vertrag|handbuch|"
    r"dokument|bericht|leitfaden|anleitung|richtlinie|manuel|rapport|contrat|guide|documento|contrato|informe|contratto|rapporto)\b",
    re.IGNORECASE,
)
TELLS = re.compile(
    r"\b(?:describes?|explains?|documents?|covers?|defines?|consists? of|contains?|provides?|presents?|introduces?|summari[sz]es?|governs?|turns .{3,60} into|"
    r"sets (?:forth|out)|specifies|is (?:an?|the)|are (?:the)?|(?:entered|made|executed|dated|effective)\b.{0,80}\bbetween|purpose|"
    r"beschreibt|erklärt|enthält|regelt|fasst|ist (?:ein|eine|der|die|das)|décrit|présente|explique|contient|est (?:une?|le|la)|"
    r"describe|explica|contiene|presenta|es (?:una?|el|la)|descrive|spiega|è (?:una?|il|la))\b|是|では|です|は.{1,40}である",
    re.IGNORECASE,
)
_BY_WHOM = re.compile(
    r"\b(?:written|prepared|maintained|dedicated|supported|published|released?|translated|typeset|available|trademarks?|copyrights?|print|download)\b",
    re.IGNORECASE,
)
_DETAIL = re.compile(
    r"^(?:if|when|unless|note that|notice that|notice|please|to do this|in case|in the event|notwithstanding|except|wenn|falls|sofern|si|lorsque|cuando|quando|se)\b"
    r"|\((?:see|siehe|voir|cf)\b|\bsee (?:section|chapter|appendix|page)\b|\b(?:section|chapter|page|article|exhibit|schedule|abschnitt|seite) [\dA-Z]"
    r"|\b(?:described|listed|shown|mentioned|given|defined|discussed|specified) (?:above|below|earlier|later|elsewhere)|\bas follows\b|\bhttps?://",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"counterpart|severab|unenforceab|(?:headings?|captions?)\b.{0,60}\b(?:convenience|reference)|entire (?:agreement|understanding)"
    r"|capitali[sz]ed terms?|(?:have|has|having) the (?:same )?meanings?|\bwaiver\b.{0,80}\b(?:breach|default|waiver)|heirs,? (?:executors|successors)"
    r"|successors and (?:permitted )?assigns|governed by (?:and construed )?|construed (?:in accordance|according|simply)|jurisdiction of"
    r"|notices?\b.{0,80}\b(?:in writing|registered|certified|delivered)|party acknowledges and agrees that the other has not"
    r"|(?:duly|validly) (?:and validly )?(?:authorized|executed)|force and effect",
    re.IGNORECASE,
)
_ABOUT_ITSELF = (
    r"(?:agreement|amendment|contract|lease|license|policy|document|manual|guide|handbook|book|chapter|section|article|report|paper|text|"
    r"collection|standard|specification|appendix|exhibit|schedule|plan|program|terms?|conditions?|guidelines?|polic(?:y|ies)|requirements?)s?\b"
)
_THIS_INSIDE = re.compile(
    rf"(?:[^\s,;]+\s+){{1,4}}(?:this|these|those)\s+(?!(?:[\w-]+\s+)?{_ABOUT_ITSELF}|who\b|which\b|that\b|of\b|year)[a-z]",
    re.IGNORECASE,
)
"""The name of this file ..., When these are set ...: what is meant stands before."""
_IF_THAT = re.compile(
    rf"(?:if|when|since|because|while|as|although|though|unless|until|once|after|before)\s+(?:(?:this|these|that|those)\b"
    rf"(?!\s+(?:[\w-]+\s+)?{_ABOUT_ITSELF})|(?:so|not)\b)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:is|are|was|were) (?:\w+ )?here\b|\bin such (?:a )?cases?\b|\bin (?:this|that) case\b|\bthe (?:above|following|next|previous) (?:examples?|figures?|tables?|list)\b",
    re.IGNORECASE,
)
_EACH_ALONE = re.compile(
    r"The (?:line|example|snippet|listing|message|picture|diagram|drawing) [a-z]+s\b|"
    r"(?:Each|Both|Neither|Either|Some|Most|Many|Several|All|None|Others?) (?:is|are|was|were|has|have|had|can|may|must|will|shall|should|do|does|returns|takes"
    r"|gives|contains|uses)\b"
)
_SUBJECTLESS = re.compile(
    r"(?:Indicates|Expands|Specifies|Returns|Sets|Defines|Contains|Gives|Lists|Enables|Disables|Means|Describes|Allows|Controls|Determines|Identifies|Prints|Causes"
    r"|Simple|Used|Same|Only) (?!(?:and|or)\b)[a-z]"
)
_NOUNS_ALONE = re.compile(r"(?:The|A|An|Any|All|New|Revised|Improved)\s(?=.*\b(?:of|the|for|and|or|with|to)\b)")
_FINITE = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|can|could|may|might|must|should|shall|will|would|do|does|did|not|cannot|came|went|said|took"
    r"|gave|told|saw|knew|ran|sat|stood|got|made|found|thought|left|kept|began|brought|held|wrote|fell|felt|led|met|paid|put|read|rose|sent|set|shot"
    r"|spoke|spent|threw|understood|wore|won|lost|built|bought|caught|chose|drew|drove|ate|flew|forgot|grew|hid|hit|hung|lay|let|lit|meant|rang|rode"
    r"|sang|sank|shook|shut|slept|slid|sold|sought|sprang|stole|struck|swam|taught|tore|woke|hurt|cost|cut|broke|dealt|swung|spun|became)\b"
    r"|\w(?:ed|es|[a-hj-rtv-z]s)\b",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(
    r"\b(?:used|called|named|based|given|required|needed|associated|provided|contained|specified) (?:to|for|by|with|in|on|as)\b"
)
_NOUNS_ALONE_WORDS = 20
_POINTING_BACK = frozenset({"it", "them", "dazu", "dabei"})
_BACKWARDS = frozenset(
    {"such", "said", "aforementioned", "aforesaid", "foregoing", "abovementioned", "latter", "former"}
)
_ELLIPTIC_STARTS = frozenset(
    {"may", "can", "must", "should", "will", "is", "are", "was", "were", "has", "have", "does", "cannot"}
)
_VERBS = frozenset(
    re.findall(
        r"\S+",
        "is are was were be shall will may must can has have had does did made ist sind war wird hat est sont es son",
    )
)
_PRONOUNS = frozenset(
    re.findall(r"\S+", "he she they his her their him them er sie ihr ihre ihm il elle ils elles leur él ella ellos")
)
_FIRST_PERSON = frozenset(
    re.findall(r"\S+", "i you my your me i'm i'll i've i'd you're you'll i’m i’ll i’ve i’d you’re you’ll")
)
_POINTER = re.compile(
    r"(?:\(?(?:please )?(?:see|cf\.?|refer to|siehe|vgl\.?|voir|véase)\b.{0,140}$|\[\d+\]|(?:figure|table|abbildung|tabelle|fig\.) \d"
    r"|.{0,25}\b(?:please see|see also|for (?:more |further )?(?:details|information))\b.{0,60}$|url: |doi:|arxiv:|\[[A-Z][\w+]*\d\d\w?\])",
    re.IGNORECASE,
)
_BOILERPLATE = re.compile(
    r"copyright\b|\(c\) ?(?:19|20)\d\d|©|all rights reserved|permission is (?:hereby )?granted to|free documentation license|project gutenberg"
    r"|this etext was produced|transcriber's note|extensive research did not uncover|\bisbn\b|table of contents|inhaltsverzeichnis|no warranty"
    r"|without even the implied warranty|confidential treatment (?:has been )?requested|regulation s-k|as (?:exhibit|schedule) \w+ (?:hereto|attached)"
    r"|page intentionally left blank|before you invest|toll[- ]free|should be disregarded|in witness whereof|have (?:duly )?(?:executed|caused) this|\bmust be distributed under\b|creative commons|licensed under|terms of the gnu"
    r"|general public license|alle rechte vorbehalten|tous droits réservés|signature page|^source: |/s/ ?\w",
    re.IGNORECASE,
)
_CITATION = re.compile(r"\beditors?,|\bvolume \d+ of\b|, \d{2,4}[–-]\d{2,4}\.$|\bproceedings of\b", re.IGNORECASE)
_TABLE = re.compile(
    r"\s\|\s|^\||\||…\s*\d+|\.{4,}|_{3,}|\[\s*[*●_ ]+\s*\]|\*{3,}|\s[,;:.](?:\s|$)|-{3,}|\t|(?:\s\d[\d.,%]*){5,}|:\s*:|\(\s*\)|[●□☐☒]"
)
_TAG = re.compile(r"<[/?!]?[a-z]+[\s:>/-]")
_CAPITALS_RUN = re.compile(r"(?:\b[A-Z]{2,}\b\s+){4,}")
_CODE = re.compile(
    r"</?\w+[^>]*>|[{}\\^`~]|::|->|=>|==|\w\(\)|\$\w|\w=\w|--\w|/\w+/\w|#\w|\w_\w+_|\s[-+]\w\s|;\s*$|&&|%\w"
)
_GLUED = re.compile(
    r"\w=[\"“][^\"”]*[\"”](?=\w)|[a-z]\d{1,3} (?:https?://|www\.)|[a-z][.,;][A-Z][a-z]+\b(?!\.\w)|[a-z]{2}(?:The|This|These|When|Note|If|It) |(?<![^\s(])(?![^\s]*//)[^\s\u0e00-\uffff]{45,}"
)
_SPEECH = re.compile(r"[\"“”„«»]|(?:^|\s)[‘'](?=\w)")
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("«", "»"), ("「", "」"), ("『", "』"), ("（", "）"))
_QUOTES = re.compile(r"[\"“”„]|''")  # in pairs, but often not of one kind
_ORDINAL_SUBJECT = re.compile(
    r"(?:the|der|die|das|le|la) (?:first|second|third|other|others|latter|former|erste|zweite|andere|premier|première|second|autre)"
    r" (?:is|are|was|were|has|have|had|will|can|may|must|half|one|ist|wird|hat|est|\w+s (?:for|the|an?|to|that|how|what|whether)\b)"
)
_WORD = re.compile(r"\w[\w'’-]*")


def is_personal(sentence: str) -> bool:
    """Say whether a sentence speaks to a reader, or of who wrote, printed or published the text."""
    return not _FIRST_PERSON.isdisjoint(_WORD.findall(sentence.lower())) or bool(_BY_WHOM.search(sentence))


def faults(sentence: str) -> Fault:
    """Find what speaks against quoting the sentence by itself."""
    spaceless = len(SPACELESS.findall(sentence)) * 3 > len(sentence)
    words = _WORD.findall(sentence.lower())
    n_words = len(sentence) // 2 if spaceless else len(words)
    found = Fault.NONE
    small = sentence[0].islower() and not SMALL_NAME.match(sentence)
    if not TERMINAL.search(sentence) or small or sentence[0] in ",.;:)]}?!…/%&=+|−’”":
        found |= Fault.HALF
    if _CUT_SHORT.search(sentence) or _SIGN_ALONE.match(sentence) or sentence[:1] in "-–":
        found |= Fault.HALF
    if n_words < 5 or len(sentence) < (12 if spaceless else 25):
        found |= Fault.SHORT
    if "@" in sentence and len(sentence) < 80:
        found |= Fault.SHORT
    if len(sentence) > 400:
        found |= Fault.LONG
    if _QUESTION.search(sentence):
        found |= Fault.QUESTION
    if any(sentence.count(a) != sentence.count(b) for a, b in _PAIRS) or len(_QUOTES.findall(sentence)) % 2:
        found |= Fault.BRACKETS
    return found | _starts(sentence, words) | _matter(sentence, words)


def _starts(sentence: str, words: Sequence[str]) -> Fault:
    lowered = sentence.lower()
    if not words:
        return Fault.SHORT
    if _ITSELF.match(sentence):
        return Fault.NONE
    if words[0] in _ELLIPTIC_STARTS:
        return Fault.HALF
    if _is_nouns_alone(sentence, words):
        return Fault.HALF
    if sentence[0] == "(" and sentence.rstrip(".")[-1:] == ")":
        return Fault.DANGLING
    if any(sign.match(sentence) for sign in (_THIS_INSIDE, _IF_THAT, _EACH_ALONE, _SUBJECTLESS)) or _ELSEWHERE.search(
        sentence
    ):
        return Fault.DANGLING
    if not _POINTING_BACK.isdisjoint(words[1:3]) or _ORDINAL_SUBJECT.match(lowered):
        return Fault.DANGLING
    if words[0] in _DANGLING_STARTS or not _BACKWARDS.isdisjoint(words[:4]) or lowered.startswith(_DANGLING_PHRASES):
        return Fault.DANGLING
    return Fault.NONE if _PRONOUNS.isdisjoint(words[:4]) else Fault.PRONOUN


def _is_nouns_alone(sentence: str, words: Sequence[str]) -> bool:
    """Say whether a short sentence has no verb, as items of lists have none: "The version number of the shell."."""
    short = len(words) <= _NOUNS_ALONE_WORDS and _NOUNS_ALONE.match(sentence)
    return bool(short) and not _FINITE.search(_PARTICIPLE.sub(" ", sentence))


def _is_title(sentence: str) -> bool:
    """Say whether a short sentence is a heading, a name or an address: nearly all its longer words begin with a capital."""
    words = _WORD.findall(sentence)
    longer = [word for word in words if len(word) > 3]
    capitals = sum(word[0].isupper() or word[0].isdigit() for word in longer)
    return len(longer) <= 12 and capitals * 4 >= 3 * max(1, len(longer)) and _VERBS.isdisjoint(words)


def _matter(sentence: str, words: Sequence[str]) -> Fault:
    found = Fault.NONE
    letters = sum(c.isalpha() for c in sentence)
    capitals = sum(c.isupper() for c in sentence)
    digits = sum(c.isdigit() for c in sentence)
    if _is_title(sentence):
        found |= Fault.HALF | Fault.SHORT
    if (capitals > 12 and capitals * 2 > letters) or _CAPITALS_RUN.search(sentence):
        found |= Fault.CAPITALS
    if _TABLE.search(sentence) or digits * 4 > len(sentence) or letters * 2 < len(sentence):
        found |= Fault.TABLE
    if 40 * len(_CODE.findall(sentence)) > len(sentence) or _TAG.search(sentence) or _GLUED.search(sentence):
        found |= Fault.CODE
    if _BOILERPLATE.search(sentence):
        found |= Fault.BOILERPLATE
    if _POINTER.match(sentence) or _CITATION.search(sentence):
        found |= Fault.POINTER
    if _DETAIL.search(sentence):
        found |= Fault.DETAIL
    if _CLAUSE.search(sentence):
        found |= Fault.CLAUSE
    if _SPEECH.search(sentence) and not _FIRST_PERSON.isdisjoint(words):
        found |= Fault.SPEECH
    return found

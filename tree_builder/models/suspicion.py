"""Text which seems to be meant for a model rather than for a reader. A cheap sign for the report; no defence by itself."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_TAGS = re.compile("[\U000e0020-\U000e007e]")
_SPACED_HINT = re.compile(r" \w \w \w ")
_SPACED = re.compile(r"(?<!\w)(?:\w[ \t]){4,}\w(?!\w)")
_NEGATED = r"(?:ignore|disregard|forget|override|bypass|ignoriere?n?|vergiss|missachte|ignore[zr]|oublie[zr]?|ignora|olvida|игнорируй(?:те)?|забудь(?:те)?|无视|忽略)"
_ORDERS = r"(?:instructions?|prompts?|rules?|guidelines|directions|anweisungen|regeln|vorgaben|consignes|instrucciones|reglas|istruzioni|инструкции|указания|指令|指示)"
_BEFORE = r"(?:all|any|previous|prior|above|earlier|preceding|your|alle[ns]?|vorherigen|bisherigen|toutes?|précédentes|anteriores|precedenti|todas|все|предыдущие)"
_SPEAKER = r"(?:assistant|ai|a\.i\.|language model|llm|chatbot|summari[sz]er|model|gpt|ki|sprachmodell|assistent|modèle de langage|modelo de lenguaje)"

_SIGNS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    (
        "asks to ignore instructions",
        ("ignor", "disregard", "forget", "overrid", "bypass", "vergiss", "missachte", "oublie", "olvida", "игнорируй", "забудь", "无视", "忽略"),
        re.compile(
            rf"(?<!not )(?<!n't )(?<!never )\b{_NEGATED}\W+(?:[\w'’]+\W+){{0,4}}?{_BEFORE}\W+(?:[\w'’]+\W+){{0,3}}?{_ORDERS}|"
            rf"(?<!not )(?<!never )\b{_NEGATED}\W+(?:[\w'’]+\W+){{0,3}}?{_ORDERS}\W+(?:above|before|given|you were|from the (?:user|system))|"
            r"(?:无视|忽略).{0,8}(?:指令|指示)",
            re.IGNORECASE,
        ),
    ),
    (
        "asks for the answer YES or NO",
        ("answer", "respond", "reply", "output", "antworte", "répond"),
        re.compile(
            r"\b(?:answer|respond|reply|say|output|return|antworte|répond(?:s|ez)|responde)\b"
            r"(?:\W+(?:only|always|simply|just|with|nur|immer|stets|mit|toujours|par|siempre|the|word|single|one|exactly|everything|"
            r"every|question|questions|to|all)){0,6}\W+(?:[\"'“‘«]\W*)?(?:YES|NO|JA|NEIN|OUI|NON|SÍ)\b(?!\s+(?:or|oder|ou|o)\b)"
        ),
    ),
    (
        "asks to put text into the summary",
        ("summar",),
        re.compile(
            r"\b(?:include|insert|add|write|repeat|append|mention|put|copy|place)\b[^.\n]{0,80}?\b(?:in|into|to|at the end of|as part of)\s+"
            r"(?:any|your|every|each|all|the|this)\s+(?:\w+\s+)?summar(?:y|ies)",
            re.IGNORECASE,
        ),
    ),
    (
        "tells how to summarize this text",
        ("summari", "summary", "sentence", "phrase"),
        re.compile(
            r"\b(?:when|if|whenever|before|while)\s+(?:you\s+(?:are\s+)?(?:asked\s+to\s+)?)?summari[sz](?:e|ing)\b[^.\n]{0,80}\b(?:write|say|include|"
            r"output|state|answer|always|must)\b|\bdo not summari[sz]e\b|\byour summary (?:must|should|has to|will)\b|"
            r"\b(?:write|include|repeat|output|add)\b[^.\n]{0,60}\b(?:sentence|phrase|text|words)\b[^.\n]{0,30}[\"“«][^\"”»]{8,}",
            re.IGNORECASE,
        ),
    ),
    (
        "speaks to a model",
        ("assistant", "assistent", "language model", "llm", "chatbot", "summari", "gpt", "sprachmodell", "modèle", "modelo", "prompt", " ai", "a.i.", " ki", "new instruction", "real task"),
        re.compile(
            rf"\b(?:you are|du bist|sie sind|tu es|vous êtes|eres)\W+(?:now\W+|jetzt\W+)?(?:an?|the|ein|eine|un|une)\W+(?:\w+\W+){{0,2}}?{_SPEAKER}\b|"
            rf"\b(?:dear|attention|note to|message to|instructions? (?:for|to)|hinweis an)\W+(?:any\W+|the\W+|all\W+|an?\W+)?{_SPEAKER}s?\b|"
            r"\b(?:system prompt|new instructions?\s*:|real task\s*:)",
            re.IGNORECASE,
        ),
    ),
    (
        "contains the markup of a chat",
        ("<|", "inst]", "sys>", "system:", "system :", "system>", "assistant:", "assistant>", "##", "<<<"),
        re.compile(
            r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id)\|>|\[/?INST\]|<</?SYS>>|"
            r"^\s*#{2,}\s*(?:system|instruction|assistant)s?\s*:?\s*$|^\s*(?:system|assistant)\s*:\s*\S|<<<\s*end\b|</?(?:system|assistant)>",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
)  # fmt: skip


def suspicious(text: str) -> tuple[str, ...]:
    """Say what in a text looks like an instruction to a model; empty when nothing does.

    Text split by spaces between letters, line breaks, invisible characters or look-alike forms is put together first.
    Takes about 0.1 ms a chunk of ordinary prose. Writing about prompts is named as well as an attack: a sign, not a verdict.
    """
    found = _reasons(_healed(text))
    if not text.isascii() and len(_TAGS.findall(text)) > 8:
        found.append("hides text in invisible characters")
    return tuple(found)


def _reasons(text: str) -> list[str]:
    """Run the searches whose words occur at all: a search costs a hundred times what looking for a word does."""
    low = text.lower()
    return [reason for reason, words, sign in _SIGNS if any(word in low for word in words) and sign.search(text)]


def _healed(text: str) -> str:
    """Undo what keeps a text readable to a model while it hides it from a search."""
    if not text.isascii():
        tagged = "".join(chr(ord(c) - 0xE0000) if 0xE0020 <= ord(c) <= 0xE007E else c for c in text)
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", tagged))
    if "-\n" in text:
        text = re.sub(r"(\w)-\n(\w)", r"\1\2", text)
    return _SPACED.sub(lambda run: re.sub(r"[ \t]", "", run[0]), text) if _SPACED_HINT.search(text) else text

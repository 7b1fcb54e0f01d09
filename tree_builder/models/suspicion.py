"""Text which seems to be meant for a model rather than for a reader. A cheap sign for the report; no defence by itself."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_SPACED = re.compile(r"(?<!\w)(?:\w[ \t]){4,}\w(?!\w)")
_NEGATED = r"(?:ignore|disregard|forget|override|bypass|ignoriere?n?|vergiss|missachte|ignore[zr]|oublie[zr]?|ignora|olvida|игнорируй(?:те)?|забудь(?:те)?|无视|忽略)"
_ORDERS = r"(?:instructions?|prompts?|rules?|guidelines|directions|anweisungen|regeln|vorgaben|consignes|instrucciones|reglas|istruzioni|инструкции|указания|指令|指示)"
_BEFORE = r"(?:all|any|previous|prior|above|earlier|preceding|your|alle[ns]?|vorherigen|bisherigen|toutes?|précédentes|anteriores|precedenti|todas|все|предыдущие)"
_SPEAKER = r"(?:assistant|ai|a\.i\.|language model|llm|chatbot|summari[sz]er|model|gpt|ki|sprachmodell|assistent|modèle de langage|modelo de lenguaje)"

_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "asks to ignore instructions",
        re.compile(
            rf"(?<!not )(?<!n't )(?<!never )\b{_NEGATED}\W+(?:[\w'’]+\W+){{0,4}}?{_BEFORE}\W+(?:[\w'’]+\W+){{0,3}}?{_ORDERS}|"
            rf"(?<!not )(?<!never )\b{_NEGATED}\W+(?:[\w'’]+\W+){{0,3}}?{_ORDERS}\W+(?:above|before|given|you were|from the (?:user|system))|"
            r"(?:无视|忽略).{0,8}(?:指令|指示)",
            re.IGNORECASE,
        ),
    ),
    (
        "asks for the answer YES or NO",
        re.compile(
            r"\b(?:answer|respond|reply|say|output|return|antworte|répond(?:s|ez)|responde)\b"
            r"(?:\W+(?:only|always|simply|just|with|nur|immer|stets|mit|toujours|par|siempre|the|word|single|one|exactly|everything|"
            r"every|question|questions|to|all)){0,6}\W+(?:[\"'“‘«]\W*)?(?:YES|NO|JA|NEIN|OUI|NON|SÍ)\b(?!\s+(?:or|oder|ou|o)\b)"
        ),
    ),
    (
        "asks to put text into the summary",
        re.compile(
            r"\b(?:include|insert|add|write|repeat|append|mention|put|copy|place)\b[^.\n]{0,80}?\b(?:in|into|to|at the end of|as part of)\s+"
            r"(?:any|your|every|each|all|the|this)\s+(?:\w+\s+)?summar(?:y|ies)",
            re.IGNORECASE,
        ),
    ),
    (
        "tells how to summarize this text",
        re.compile(
            r"\b(?:when|if|whenever|before|while)\s+(?:you\s+(?:are\s+)?(?:asked\s+to\s+)?)?summari[sz](?:e|ing)\b[^.\n]{0,80}\b(?:write|say|include|"
            r"output|state|answer|always|must)\b|\bdo not summari[sz]e\b|\byour summary (?:must|should|has to|will)\b|"
            r"\b(?:write|include|repeat|output|add)\b[^.\n]{0,60}\b(?:sentence|phrase|text|words)\b[^.\n]{0,30}[\"“«][^\"”»]{8,}",
            re.IGNORECASE,
        ),
    ),
    (
        "speaks to a model",
        re.compile(
            rf"\b(?:you are|du bist|sie sind|tu es|vous êtes|eres)\W+(?:now\W+|jetzt\W+)?(?:an?|the|ein|eine|un|une)\W+(?:\w+\W+){{0,2}}?{_SPEAKER}\b|"
            rf"\b(?:dear|attention|note to|message to|instructions? (?:for|to)|hinweis an)\W+(?:any\W+|the\W+|all\W+|an?\W+)?{_SPEAKER}s?\b|"
            r"\b(?:system prompt|new instructions?\s*:|real task\s*:)",
            re.IGNORECASE,
        ),
    ),
    (
        "contains the markup of a chat",
        re.compile(
            r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id)\|>|\[/?INST\]|<</?SYS>>|"
            r"^\s*#{2,}\s*(?:system|instruction|assistant)s?\s*:?\s*$|^\s*(?:system|assistant)\s*:\s*\S|<<<\s*end\b|</?(?:system|assistant)>",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
)  # fmt: skip
_HINT = re.compile(
    r"ignor|disreg|forget|overrid|bypass|vergiss|missacht|oubli|olvida|игнор|забуд|无视|忽略|summar|assistant|assistent|system|"
    r"inst|prompt|model|chatbot|llm|gpt|<<<|<\||\b(?:YES|NO|JA|NEIN|OUI|NON)\b|\bAI\b|\bKI\b",
    re.IGNORECASE,
)


def suspicious(text: str) -> tuple[str, ...]:
    """Say what in a text looks like an instruction to a model; empty when nothing does.

    Text split by spaces between letters, line breaks, invisible characters or look-alike forms is put together first.
    Takes some 20 µs a chunk of ordinary prose. Writing about prompts is named as well as an attack: a sign, not a verdict.
    """
    found = dict.fromkeys(_reasons(text))
    invisible = len(_INVISIBLE.findall(text)) if not text.isascii() else 0
    healed = _healed(text)
    if healed != text:
        found |= dict.fromkeys(_reasons(healed))
    if invisible > 20 and any(0xE0000 <= ord(c) <= 0xE007F for c in text):
        found["hides text in invisible characters"] = None
    return tuple(found)


def _reasons(text: str) -> list[str]:
    if not _HINT.search(text):
        return []
    return [reason for reason, sign in _SIGNS if sign.search(text)]


def _healed(text: str) -> str:
    """Undo what keeps a text readable to a model while it hides it from a search."""
    if not text.isascii():
        tagged = "".join(chr(ord(c) - 0xE0000) if 0xE0020 <= ord(c) <= 0xE007E else c for c in text)
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", tagged))
    text = re.sub(r"(\w)-\n(\w)", r"\1\2", text)
    return _SPACED.sub(lambda run: re.sub(r"[ \t]", "", run[0]), text)

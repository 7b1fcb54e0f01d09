"""Reading what a language model answered, tolerantly: YES or NO, the place of a boundary, a summary. Plain functions."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from tree_builder.model import Usage


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What came back, unchecked. finish_reason: stop, length, content_filter or what the server says.

    yes: the probability which the model gave to YES, where it tells. refusal: the model's own word for refusing.
    """

    text: str
    finish_reason: str = "stop"
    usage: Usage = Usage()
    request_id: str = ""
    yes: float | None = None
    refusal: str = ""


_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHT = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_CODE_FENCE = re.compile(r"^```\w*\s*(.*?)\s*```$", re.DOTALL)

_YES = frozenset(
    [
        "yes",
        "yeah",
        "yep",
        "true",
        "ja",
        "oui",
        "si",
        "sí",
        "sim",
        "да",
        "так",
        "tak",
        "ano",
        "áno",
        "igen",
        "kyllä",
        "evet",
        "da",
        "ναι",
        "はい",
        "是",
        "是的",
        "对",
        "예",
        "네",
        "نعم",
        "כן",
        "हाँ",
        "हां",
        "có",
        "ya",
        "jah",
    ]
)
_NO = frozenset(
    [
        "no",
        "nope",
        "false",
        "nein",
        "non",
        "não",
        "nao",
        "нет",
        "ні",
        "nie",
        "ne",
        "nem",
        "ei",
        "hayır",
        "hayir",
        "nu",
        "nej",
        "nee",
        "όχι",
        "οχι",
        "いいえ",
        "否",
        "不",
        "不是",
        "没有",
        "아니요",
        "아니오",
        "لا",
        "לא",
        "नहीं",
        "không",
        "tidak",
    ]
)
_STATED = re.compile(
    r"\b(?:answer|antwort|réponse|respuesta|risposta|resposta|ответ)\b\W{0,6}(?:is\W+|ist\W+)?(\w+)", re.IGNORECASE
)


def read_yes_no(text: str) -> bool | None:
    """Read an answer to the boundary question: True for YES, False for NO, None when it is neither, or both."""
    text = _visible(text)
    if (value := _json_of(text)) is not None and (said := _yes_no_of_json(value)) is not None:
        return said
    words = [_plain(word) for word in text.replace("/", " / ").split()]
    words = [word for word in words if word]
    if not words:
        return None
    if len(words) == 1 and words[0] in ("y", "n"):
        return words[0] == "y"
    first = _word(words[0])
    if first is not None:
        others = [_word(word) for word in words[1:4]]
        return (
            None if (not first) in others and words[1] in ("and", "or", "und", "oder", "et", "ou", "y", "o") else first
        )
    stated = {said for m in _STATED.finditer(text) if (said := _word(_plain(m[1]))) is not None}
    if not stated:  # in running text only capitals are an answer: "there is no change" is none
        stated = {w == "YES" for w in re.findall(r"\b(?:YES|NO)\b", text)}
    return stated.pop() if len(stated) == 1 else None


def read_window(text: str, n: int) -> int | None:
    """Read an answer to the window question about n items: the number of an item from 3 on, 0 for none, None for neither."""
    text = _visible(text)
    value = _json_of(text)
    if value is None and re.fullmatch(r"\W*(?:none|null|nothing|no)\W*", text, re.IGNORECASE):
        return 0
    if value is None and (found := re.fullmatch(r"\D{0,40}?(-?\d{1,4})\W*", text)):
        value = int(found[1])
    number = _number_of_json(value)
    return number if number is not None and (number == 0 or 3 <= number <= n) else None


_REFUSAL = re.compile(
    r"^(?:i['’]?m (?:very )?sorry|sorry|i apologi[sz]e|i (?:can(?:['’]?t|not)|am unable|['’]m unable|won['’]t)|as an ai\b|"
    r"es tut mir leid|je suis désolé|lo siento|unfortunately,? i can)",
    re.IGNORECASE,
)
_PREFACE = re.compile(
    r"^(?:here(?:'s| is) (?:a|the|your)[^\n:]{0,60}summary[^\n:]{0,60}:|[*#\s]*(?:summary|zusammenfassung|résumé|resumen)\s*[*]*:[*]*)\s*",
    re.IGNORECASE,
)
_FENCE_MARK = re.compile(r"<<<[^<>\n]{0,80}>{1,3}[ \t]*\n?")


_QUOTES = (('"', '"'), ("“", "”"), ("«", "»"), ("„", "“"))


def clean_summary(text: str) -> str:
    """Give the summary alone: no thinking aloud, preface, fence, control character or half of a surrogate pair."""
    text = _FENCE_MARK.sub("", _visible(text)).strip()
    text = _PREFACE.sub("", text).strip()
    if len(text) > 1 and (text[0], text[-1]) in _QUOTES and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    if (
        text.replace("\n", " ").replace("\t", " ").isprintable()
    ):  # as nearly all are; to look at each character takes long
        return text
    kept = (c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs", "Cn", "Co"))
    return "".join(kept).strip()


def fault_of_summary(answer: RawAnswer) -> str | None:
    """Say why an answer cannot serve as a summary, or None when it can."""
    if answer.finish_reason == "length":
        return "cut off"
    if answer.finish_reason == "content_filter":
        return "filtered"
    if answer.refusal:
        return "refused"
    text = clean_summary(answer.text)
    if not text:
        return "empty"
    letters = sum(map(str.isalpha, text))
    if letters < 2 or "\ufffd\ufffd" in text:
        return "garbage"
    if 3 * letters < len(text) and 3 * (letters + sum(map(str.isdigit, text))) < len(text.replace(" ", "")):
        return "garbage"
    if len(text) < 400 and _REFUSAL.match(text):
        return "refused"
    return None


def _visible(text: str) -> str:
    """Leave out thinking aloud, closed or not, and the fence of a code block."""
    text = _THOUGHT.sub("", text)
    text = _END_OF_THOUGHT.split(text)[-1].strip()  # an opening tag which the server kept to itself
    found = _CODE_FENCE.match(text)
    return (found[1] if found else text).strip()


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        found = re.search(r"\{[^{}]*\}", text)
    if found is None:
        return None
    try:
        return json.loads(found[0])
    except ValueError:
        return None


def _yes_no_of_json(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = _plain(value.split()[0]) if value.split() else ""
        return {"y": True, "n": False}.get(word, _word(word))
    if isinstance(value, list | dict):
        inner = value.values() if isinstance(value, dict) else value
        said = {v for v in map(_yes_no_of_json, inner) if v is not None}
        return said.pop() if len(said) == 1 else None
    return None


def _number_of_json(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"\s*-?\d{1,4}\s*", value) else None
    if isinstance(value, dict):
        if "first_new_topic" in value:
            inner = value["first_new_topic"]
            return 0 if inner is None else _number_of_json(inner)
        numbers = [n for n in map(_number_of_json, value.values()) if n is not None]
        return numbers[0] if len(numbers) == 1 else None
    return None


def _plain(word: str) -> str:
    """Give a word without the marks around it, in lower case."""
    return unicodedata.normalize("NFC", re.sub(r"^[\W_]+|[\W_]+$", "", word)).casefold()


def _word(word: str) -> bool | None:
    return True if word in _YES else False if word in _NO else None

"""The few calls into pdfium which are made for every line or drawing of a page.

pypdfium2's own bindings let go of the interpreter's lock around each call and check types, which takes twice the time of these
calls themselves. A reading process has one thread, so nobody else could use the lock. Handles are plain addresses here.
"""

from __future__ import annotations

import ctypes
from typing import Any

import pypdfium2.raw  # noqa: F401 - loads the library
from pypdfium2_raw import bindings

_LIBRARY = ctypes.PyDLL("pdfium", handle=bindings._libs["pdfium"]._handle)  # noqa: SLF001 - there is no public way to the handle
_HANDLE, _INT = ctypes.c_void_p, ctypes.c_int


def _call(name: str, result: Any, *arguments: Any) -> Any:
    function = _LIBRARY[name]
    function.restype, function.argtypes = result, arguments
    return function


class Rect(ctypes.Structure):
    """A rectangle as pdfium gives it."""

    _fields_ = (
        ("left", ctypes.c_float),
        ("top", ctypes.c_float),
        ("right", ctypes.c_float),
        ("bottom", ctypes.c_float),
    )


def address(handle: Any) -> int:
    """Give the address behind one of pypdfium2's raw handles."""
    return ctypes.cast(handle, _HANDLE).value or 0


load_page = _call("FPDF_LoadPage", _HANDLE, _HANDLE, _INT)
close_page = _call("FPDF_ClosePage", None, _HANDLE)
page_width = _call("FPDF_GetPageWidthF", ctypes.c_float, _HANDLE)
page_height = _call("FPDF_GetPageHeightF", ctypes.c_float, _HANDLE)
load_text = _call("FPDFText_LoadPage", _HANDLE, _HANDLE)
close_text = _call("FPDFText_ClosePage", None, _HANDLE)
count_chars = _call("FPDFText_CountChars", _INT, _HANDLE)
get_text = _call("FPDFText_GetText", _INT, _HANDLE, _INT, _INT, _HANDLE)
char_index = _call("FPDFText_GetCharIndexFromTextIndex", _INT, _HANDLE, _INT)
char_origin = _call("FPDFText_GetCharOrigin", _INT, _HANDLE, _INT, _HANDLE, _HANDLE)
char_box = _call("FPDFText_GetLooseCharBox", _INT, _HANDLE, _INT, _HANDLE)
bounded_text = _call("FPDFText_GetBoundedText", _INT, _HANDLE, *(ctypes.c_double,) * 4, _HANDLE, _INT)
get_rotation = _call("FPDFPage_GetRotation", _INT, _HANDLE)
count_objects = _call("FPDFPage_CountObjects", _INT, _HANDLE)
get_object = _call("FPDFPage_GetObject", _HANDLE, _HANDLE, _INT)
object_type = _call("FPDFPageObj_GetType", _INT, _HANDLE)
object_bounds = _call("FPDFPageObj_GetBounds", _INT, _HANDLE, *(_HANDLE,) * 4)
object_matrix = _call("FPDFPageObj_GetMatrix", _INT, _HANDLE, _HANDLE)
count_form_objects = _call("FPDFFormObj_CountObjects", _INT, _HANDLE)
get_form_object = _call("FPDFFormObj_GetObject", _HANDLE, _HANDLE, ctypes.c_ulong)
count_segments = _call("FPDFPath_CountSegments", _INT, _HANDLE)
get_segment = _call("FPDFPath_GetPathSegment", _HANDLE, _HANDLE, _INT)
segment_point = _call("FPDFPathSegment_GetPoint", _INT, _HANDLE, _HANDLE, _HANDLE)
segment_type = _call("FPDFPathSegment_GetType", _INT, _HANDLE)
segment_closes = _call("FPDFPathSegment_GetClose", _INT, _HANDLE)
first_bookmark = _call("FPDFBookmark_GetFirstChild", _HANDLE, _HANDLE, _HANDLE)
next_bookmark = _call("FPDFBookmark_GetNextSibling", _HANDLE, _HANDLE, _HANDLE)
bookmark_title = _call("FPDFBookmark_GetTitle", ctypes.c_ulong, _HANDLE, _HANDLE, ctypes.c_ulong)
bookmark_target = _call("FPDFBookmark_GetDest", _HANDLE, _HANDLE, _HANDLE)
target_page = _call("FPDFDest_GetDestPageIndex", _INT, _HANDLE, _HANDLE)

OBJECT_PATH, OBJECT_IMAGE, OBJECT_FORM = 2, 3, 5
SEGMENT_LINE, SEGMENT_MOVE = 0, 2

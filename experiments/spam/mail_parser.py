"""Parse raw e-mails into the nine segments of the paper's appendix ("SpamAssassins").

Each is a player: held or replaced as a whole. Where the paper leaves room:

- URLs and addresses are those of the body, links in HTML among them, each as often as it occurs.
  They are taken out of the sentences, so that no segment repeats another's content.
- A sentence ends with a full stop, a question or an exclamation mark, at a blank line, or where a
  line has no word (`-----`). Marks of quotation at the start of a line are dropped.
- No sentence stands in two segments, or replacing it in one would leave it in the other. As in the
  fields that the paper's authors prepared, a mail of two or three sentences has a first and a last,
  a mail of one has a first, and the other segments are empty.
"""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from email import message_from_bytes
from email.message import Message
from html import unescape
from html.parser import HTMLParser
from typing import Any, cast

import numpy as np

from suffice.datasets import SEGMENTS
from suffice.errors import InputError, did_you_mean
from suffice.tables import is_frame
from suffice.text.segmentation import sentences
from suffice.typing import Reals

# No address is tried from the middle of a word: on one endless word that would take for ever.
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"(?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\"']+", re.IGNORECASE)
_AFTER_URL = ".,;:!?)]}*_"
_QUOTED = re.compile(r"^[ \t]*(?:>[ \t]*)+", re.MULTILINE)
_WORDLESS_LINE = re.compile(r"^[\W_]*$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]")


def mail_segments(raw: str | bytes, *, lines_are_sentences: bool = False) -> dict[str, str]:
    """Cut a raw mail into the nine segments; one that the mail does not have is empty.

    Parameters
    ----------
    raw
        The mail as it was sent: headers, a blank line, a body. Parts, transfer encodings, charsets
        and HTML are decoded; bytes that fit no declared charset are read as UTF-8 or Latin-1.
    lines_are_sentences
        Let every line end a sentence, as in the fields that the paper's authors prepared.

    Examples
    --------
    >>> mail = '''From: Ann <ann@shop.example>
    ... Subject: =?utf-8?q?Your_order?=
    ...
    ... Dear Bo. It is ready!
    ... See http://shop.example/42 for more. Yours, Ann'''
    >>> segments = mail_segments(mail)
    >>> segments["Subject"], segments["To"], segments["Urls"]
    ('Your order', '', 'http://shop.example/42')
    >>> segments["Second Sentence"], segments["Last Sentence"]
    ('It is ready!', 'Yours, Ann')
    """
    message = read_message(raw)
    body, links = body_of(message)
    written = " ".join([body, *links])
    urls = [url.rstrip(_AFTER_URL) for url in _URL.findall(written)]
    without_urls = _URL.sub(_punctuation_after, body)
    addresses = _ADDRESS.findall(_URL.sub(" ", written))
    found_sentences = sentences_of(_ADDRESS.sub(" ", without_urls), lines_are_sentences)
    enough = len(found_sentences) >= 4
    found = (
        header_of(message, "From"),
        header_of(message, "To"),
        header_of(message, "Subject"),
        " ".join(urls),
        " ".join(addresses),
        found_sentences[0] if found_sentences else "",
        found_sentences[1] if enough else "",
        found_sentences[-2] if enough else "",
        found_sentences[-1] if len(found_sentences) > 1 else "",
    )
    return dict(zip(SEGMENTS, found, strict=True))


def sentences_of(text: str, lines_are_sentences: bool = False) -> list[str]:
    """Cut text into sentences, each on one line and with at least one letter or digit.

    >>> sentences_of("Dr. Lee wrote:\\n> Is it\\n> done? Yes.\\n-----\\nLee")
    ['Dr. Lee wrote: Is it done?', 'Yes.', 'Lee']
    """
    text = "\n".join(text.splitlines())
    text = _WORDLESS_LINE.sub("", _QUOTED.sub("", text))
    paragraphs = text.split("\n" if lines_are_sentences else "\n\n")
    cut = (part[a:b] for part in paragraphs for a, b in sentences(part))
    return [" ".join(s.split()) for s in cut if _WORD.search(s)]


def _punctuation_after(url: re.Match[str]) -> str:
    """Return the punctuation after a URL, which ends the sentence and stays."""
    return url.group()[len(url.group().rstrip(_AFTER_URL)) :]


# A raw mail as text: its headers decoded, its parts joined, its HTML read.


_ENCODED_WORD = re.compile(r"=\?([^?\s]+)\?([bqBQ])\?([^?]*)\?=")
_BETWEEN_ENCODED_WORDS = re.compile(r"(?<=\?=)\s+(?==\?)")


def read_message(raw: str | bytes) -> Message:
    """Parse a mail, as it was sent or as a program has read it."""
    given: object = raw
    if not isinstance(given, str | bytes):
        raise InputError("raw", raw, "a raw e-mail, as text or bytes")
    if not raw.strip():
        raise InputError("raw", "an empty mail", "a raw e-mail: headers, a blank line, a body")
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    try:
        return message_from_bytes(data)
    except RecursionError:  # parts within parts within parts, hundreds deep: read it as text
        plain: Message = Message()
        plain.set_payload(_decoded(data, None))
        return plain


def header_of(message: Message, name: str) -> str:
    """Return the first header of this name on one line, decoded; empty if there is none."""
    for key, value in message.raw_items():
        if key.lower() == name.lower():
            data = str(value).encode("utf-8", "surrogateescape")
            text = " ".join(_decoded(data, None).split())
            text = _BETWEEN_ENCODED_WORDS.sub("", text)
            return " ".join(_ENCODED_WORD.sub(_decode_word, text).split())
    return ""


def body_of(message: Message) -> tuple[str, list[str]]:
    """Return the text that a reader would see, and the addresses that its links lead to."""
    try:
        return _body(message)
    except RecursionError:
        return "", []


def _body(part: Message) -> tuple[str, list[str]]:
    if part.is_multipart():
        inner: Any = part.get_payload()
        bodies = [_body(p) for p in inner]
        bodies = [(text, links) for text, links in bodies if text.strip() or links]
        if part.get_content_type() == "multipart/alternative":
            # The same message several times. The first is the plainest: least is lost on the way.
            bodies = bodies[:1]
        return "\n\n".join(text for text, _ in bodies), [link for _, ls in bodies for link in ls]
    attached = part.get_content_disposition() == "attachment"
    # A multipart whose parts could not be told apart is read as the text it is.
    if part.get_content_maintype() not in ("text", "multipart") or attached:
        return "", []
    data = part.get_payload(decode=True)
    charset = part.get_param("charset")
    charset = charset[2] if isinstance(charset, tuple) else charset
    text = _decoded(data if isinstance(data, bytes) else b"", charset)
    if part.get_content_subtype() == "html" or looks_like_html(text):
        return html_text(text)
    return text, []


def _decode_word(match: re.Match[str]) -> str:
    charset, encoding, text = match.groups()
    data = text.encode("utf-8", "replace")
    try:
        if encoding in "bB":
            plain = base64.b64decode(data + b"=" * (-len(data) % 4))
        else:
            plain = quopri.decodestring(data, header=True)
    except (binascii.Error, ValueError):
        return match.group()
    return _decoded(plain, charset)


def _decoded(data: bytes, charset: object) -> str:
    """Decode bytes. UTF-8 comes first for other than ASCII: no other charset looks like it."""
    declared = charset if isinstance(charset, str) else "utf-8"
    for name in (declared,) if data.isascii() else ("utf-8", declared):
        try:
            return data.decode(name)
        except (LookupError, ValueError, Warning):  # unknown, no text codec, or wrong
            continue
    return data.decode("latin-1")


# HTML as the text that a reader sees, and the links in it.


_MARKUP = re.compile(r"<\s*(?:!doctype\s+html|html|body)\b", re.IGNORECASE)
# On what is opened and never closed, the parser reads on to the end from each opening in turn, for
# minutes. A comment that never ends hides the rest, as in a browser; a lone "<" is a character.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LONE_BRACKET = re.compile(r"<(?![^<>]++>)")
_TAG = re.compile(r"<[^<>]*>")
_HIDDEN_TAGS = frozenset({"script", "style", "title"})
_INLINE = frozenset(
    {"a", "abbr", "b", "big", "cite", "code", "em", "font", "i", "s", "small", "span", "strike"}
    | {"strong", "sub", "sup", "tt", "u"}
)
_LINKS = frozenset({"href", "src", "action"})


def looks_like_html(text: str) -> bool:
    """Return whether text begins an HTML page: many mails declare no type or the wrong one."""
    return _MARKUP.search(text) is not None


def html_text(html: str) -> tuple[str, list[str]]:
    """Return the text of a page, with a blank line at each tag that is not inline, and its links.

    >>> html_text('<p>Dear <b>friend</b>,<br>click <a href="http://a.example">here</a>!')
    ('Dear friend,\\n\\nclick here!', ['http://a.example'])
    """
    html = _LONE_BRACKET.sub("&lt;", _COMMENT.sub("", html))
    reader = _TextExtractor()
    try:
        reader.feed(html)
        reader.close()
    except (AssertionError, NotImplementedError):  # how the parser rejects some declarations
        return unescape(_TAG.sub(" ", html)).strip(), reader.links
    lines = ("".join(reader.pieces)).split("\0")
    return "\n\n".join(" ".join(line.split()) for line in lines if line.strip()), reader.links


class _TextExtractor(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.links: list[str] = []
        self._unseen = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in _LINKS and value]
        self._unseen = tag if tag in _HIDDEN_TAGS else ""
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._unseen = ""
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.pieces.append(data.replace("\0", " "))

    def _break(self, tag: str) -> None:
        if tag not in _INLINE:
            self.pieces.append("\0")


# The paper's cleaning of text: lower case, words and digits alone, no stop words.


_NEITHER_WORD_NOR_DASH = re.compile(r"[^\w-]+")


def clean(text: str, stopwords: AbstractSet[str]) -> str:
    """Lower-case, keep words, digits, `-` and `_` (within a word), and leave out stop words.

    Stop words are left out last, so "don't" goes as "don" and "t", which nltk's list has.

    >>> clean("Don't miss the e-mail -- 50% OFF!", {"don", "t", "the"})
    'miss e-mail 50 off'
    """
    given: object = text
    if not isinstance(given, str):
        raise InputError("text", text, "a string")
    if not isinstance(stopwords, AbstractSet):
        raise InputError(
            "stopwords", stopwords, "a set of words", "datasets.stopwords() reads nltk's."
        )
    words = (w.strip("-_") for w in _NEITHER_WORD_NOR_DASH.sub(" ", text.lower()).split())
    return " ".join(w for w in words if w and w not in stopwords)


# Segments of text as numbers: each becomes the mean of its words' vectors.


Document = Mapping[str, str]


def mean_vectors(
    fields: Document | Iterable[Document],
    vectors: Mapping[str, Any],
    segments: Sequence[str] = SEGMENTS,
) -> Reals:
    """Return (documents, segments × numbers): the mean vector of each segment's known words.

    Parameters
    ----------
    fields
        One document as {segment: text}, a list of them, or a frame with a column per segment.
        Words are what white space separates: `clean` the text first.
    vectors
        {word: vector}, all of one length. Words it does not have are left out; a segment without a
        known word is all zeros.
    segments
        Which segments, in the order of their columns.

    Examples
    --------
    >>> vectors = {"free": [1.0, 0.0], "money": [0.0, 1.0]}
    >>> mean_vectors({"Subject": "free money now", "To": ""}, vectors, ["Subject", "To"]).tolist()
    [[0.5, 0.5, 0.0, 0.0]]
    """
    size = _size_of(vectors)
    texts = [[text.split() for text in row] for row in _texts(fields, segments)]
    # Only the words that occur are looked up: a vocabulary has many more.
    used = {word for row in texts for words in row for word in words if word in vectors}
    number = {word: i for i, word in enumerate(sorted(used))}
    try:
        known = np.array([vectors[word] for word in number], dtype=float).reshape(-1, size)
    except (TypeError, ValueError) as error:
        allowed = "{word: vector}, all vectors of one length"
        raise InputError("vectors", "vectors of several lengths", allowed) from error
    out = np.zeros((len(texts), len(segments), size))
    for i, row in enumerate(texts):
        for j, words in enumerate(row):
            if found := [number[word] for word in words if word in number]:
                out[i, j] = known[found].mean(axis=0)
    return out.reshape(len(texts), len(segments) * size)


def vector_groups(size: int, segments: Sequence[str] = SEGMENTS) -> dict[str, list[str]]:
    """Return the columns of each segment, as `Explainer` takes them for `groups`.

    >>> vector_groups(2, ["From", "To"])
    {'From': ['From 0', 'From 1'], 'To': ['To 0', 'To 1']}
    """
    if not isinstance(size, int | np.integer) or size < 1:
        raise InputError("size", size, "the length of a word vector, a whole number >= 1")
    return {segment: [f"{segment} {i}" for i in range(size)] for segment in segments}


def vector_columns(size: int, segments: Sequence[str] = SEGMENTS) -> list[str]:
    """Return the names of the columns in the order of `mean_vectors`.

    >>> vector_columns(2, ["From", "To"])
    ['From 0', 'From 1', 'To 0', 'To 1']
    """
    return [name for names in vector_groups(size, segments).values() for name in names]


def _size_of(vectors: Mapping[str, Any]) -> int:
    if not isinstance(vectors, Mapping) or not vectors:
        raise InputError("vectors", vectors, "{word: vector}, at least one")
    size = np.size(next(iter(vectors.values())))
    if not size:
        raise InputError("vectors", "vectors of no numbers", "{word: vector}")
    return size


def _texts(fields: Any, segments: Sequence[str]) -> list[list[str]]:
    """Return the texts of documents, by document and segment."""
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        raise InputError("fields", fields, "{segment: text}, a list of them, or a frame")
    documents: Iterable[Any] = [fields] if isinstance(fields, Mapping) else fields
    if is_frame(fields):
        import narwhals as nw

        documents = nw.from_native(cast(Any, fields), eager_only=True).iter_rows(named=True)
    rows = []
    for document in documents:
        if not isinstance(document, Mapping):
            raise InputError("fields", document, "documents as {segment: text}")
        rows.append([_text(document, segment) for segment in segments])
    return rows


def _text(document: Document, segment: str) -> str:
    if segment not in document:
        hint = did_you_mean(segment, document)
        raise InputError("fields", f"no segment {segment!r}", "a text for every segment", hint)
    text: object = document[segment]
    if not isinstance(text, str):
        raise InputError("fields", f"{text!r} for {segment!r}", "a text for every segment")
    return text

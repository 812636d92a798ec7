"""The nine segments of a mail, as in the paper's appendix ("SpamAssassins").

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

import re

from suffice.datasets.mail.message import body_of, header_of, read_message
from suffice.text.spans import sentences

__all__ = ["SEGMENTS", "mail_segments", "sentences_of"]

SEGMENTS = (
    "From",
    "To",
    "Subject",
    "Urls",
    "Emails",
    "First Sentence",
    "Second Sentence",
    "Penult Sentence",
    "Last Sentence",
)
"""The names of the segments, in their order."""

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
    without_urls = _URL.sub(_only_what_follows, body)
    addresses = _ADDRESS.findall(_URL.sub(" ", written))
    told = sentences_of(_ADDRESS.sub(" ", without_urls), lines_are_sentences)
    enough = len(told) >= 4
    found = (
        header_of(message, "From"),
        header_of(message, "To"),
        header_of(message, "Subject"),
        " ".join(urls),
        " ".join(addresses),
        told[0] if told else "",
        told[1] if enough else "",
        told[-2] if enough else "",
        told[-1] if len(told) > 1 else "",
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


def _only_what_follows(url: re.Match[str]) -> str:
    """The full stop after a URL ends the sentence, and stays."""
    return url.group()[len(url.group().rstrip(_AFTER_URL)) :]

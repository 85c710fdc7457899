"""Elements with their byte ranges, and edits, in several encodings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import Edit
from mtloop.data.formats.xml_splice import (
    XmlDocument,
    XmlElement,
    check_fragment,
    escape_attribute,
    escape_text,
)

PATH = Path("a.xml")
BODY = (
    "<!DOCTYPE a SYSTEM 'a.dtd'>\r\n<!-- <a> -->\r\n<a b='1>2' c = \"3\" >\r\n  <q/><q />t&amp;ü<![CDATA[<x>]]>"
    '<!-- c --><s:e  xml:lang="d&quot;" >ab\r\ncd</s:e ></a>\r\n'
)
ENCODINGS = ["UTF-8", "ISO-8859-1", "windows-1252", "UTF-16"]

XML_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"))
TREES = st.recursive(
    XML_TEXT.map(escape_text) | st.sampled_from(["<!-- > -->", "<?p '>?>", "<![CDATA[<b>&]]>", "\r\n", "&#10;"]),
    lambda inner: st.builds(
        lambda name, value, quote, space, parts: (
            f"<{name} v={quote}{value}{quote}{space}>{''.join(parts)}</{name}{space}>" if parts else f"<{name}{space}/>"
        ),
        st.sampled_from(["a", "x:b", "ü"]),
        st.sampled_from(["", ">", "/>", "&lt;", "ä"]),
        st.sampled_from("'\""),
        st.sampled_from(["", " ", "\n"]),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)


def document(encoding: str = "UTF-8") -> XmlDocument:
    text = f'<?xml version="1.0" encoding="{encoding}"?>\r\n{BODY}'
    return XmlDocument.parse(text.encode(encoding), PATH)


def parse(text: str) -> XmlDocument:
    return XmlDocument.parse(text.encode(), PATH)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_elements(encoding: str) -> None:
    found = document(encoding)
    first, second, inner = found.root.children
    assert found.root.attributes == {"b": "1>2", "c": "3"}
    assert found.root.text() == "\n  t&ü<x>ab\ncd"
    assert [found.outer(element) for element in (first, second)] == ["<q/>", "<q />"]
    assert (inner.tag, inner.name, inner.attributes) == ("s:e", "e", {"xml:lang": 'd"'})
    assert found.raw(inner) == "ab\ncd"
    assert found.outer(inner) == '<s:e  xml:lang="d&quot;" >ab\ncd</s:e >'
    assert inner.line == 5
    assert found.indentation(first) == "\n  "
    assert found.indentation(second) == ""


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_edits_change_nothing_else(encoding: str) -> None:
    found = document(encoding)
    first, second, inner = found.root.children
    edits = [
        found.set_inner(first, "eins\nzwei"),
        found.set_attribute(first, "state", 'a"b'),
        found.set_attribute(second, "n", "1"),
        found.set_inner(inner, "<i>ß</i>"),
        found.set_attribute(inner, "xml:lang", "de"),
        *found.remove_attribute(found.root, "b"),
        *found.remove_attribute(found.root, "absent"),
        found.insert_before(second, "<new/>"),
        found.insert_after(second, "\n<new/>"),
    ]
    expected = BODY.replace(" b='1>2'", "").replace("<q/>", '<q state="a&quot;b">eins\r\nzwei</q>')
    expected = expected.replace("<q />", '<new/><q n="1" />\r\n<new/>').replace("ab\r\ncd", "<i>ß</i>")
    expected = expected.replace("d&quot;", "de")
    assert found.spliced(edits) == f'<?xml version="1.0" encoding="{encoding}"?>\r\n{expected}'.encode(encoding)
    assert found.spliced([]) == found.content


def test_content_and_attribute_of_an_empty_tag_with_a_space() -> None:
    found = parse("<a><t  x='1' /></a>")
    child = found.root.children[0]
    edits = [found.set_inner(child, "T"), found.set_attribute(child, "y", "2")]
    assert found.spliced(edits) == b"<a><t  x='1' y=\"2\">T</t></a>"


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "US-ASCII"])
def test_a_character_that_the_encoding_lacks_becomes_a_reference(encoding: str) -> None:
    content = f'<?xml version="1.0" encoding="{encoding}"?><a/>'.encode()
    found = XmlDocument.parse(content, PATH)
    new = found.spliced([found.set_inner(found.root, "„x“")])
    assert new == content.replace(b"<a/>", b"<a>&#8222;x&#8220;</a>")
    assert XmlDocument.parse(new, PATH).root.text() == "„x“"


def test_a_byte_order_mark_stays() -> None:
    found = XmlDocument.parse(b"\xef\xbb\xbf<a><b/></a>", PATH)
    assert found.spliced([found.set_inner(found.root.children[0], "x")]) == b"\xef\xbb\xbf<a><b>x</b></a>"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.xml:1: not well-formed XML: no element found"),
        (b"<a>\n<b></a>", "a.xml:2: not well-formed XML: mismatched tag"),
        (b"<a/>\n<b/>", "a.xml:2: not well-formed XML: junk after document element"),
        (b"<a>\n\0</a>", "a.xml:2: not well-formed XML"),
        (b"<a>\n\xff</a>", "a.xml:2: invalid bytes for the encoding utf-8"),
        (b"<a>&x;</a>", "undefined entity"),
        (b'<!DOCTYPE a SYSTEM "a.dtd"><a>\n&x;</a>', "a.xml:2: unknown entity &x;"),
        (b'<?xml version="1.0" encoding="UTF-16"?><a/>', "a.xml:1: declares UTF-16, but it is not"),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', "a.xml:1: unknown encoding 'no-such'"),
        (b'<?xml version="1.0" encoding="rot13"?><a/>', "unsupported encoding"),
        (b'<?xml version="1.0" encoding="UTF-7"?><a>+AGE-</a>', "cannot be written back unchanged"),
        (b"<a>" * 2000 + b"</a>" * 2000, "more than 200 elements inside each other"),
        (b"<b/>", "the root element is <b>; expected <a>"),
    ],
)
def test_bad_files(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        XmlDocument.parse(content, PATH, "a")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_entity_bomb() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]>\n<a>&y;</a>'
    with pytest.raises(InputError, match="entities are unsafe"):
        parse(bomb)


def test_characters_that_xml_cannot_hold() -> None:
    found = parse("<a><b/></a>")
    with pytest.raises(InputError, match=r"U\+0001"):
        found.set_inner(found.root.children[0], "\x01")


@pytest.mark.parametrize("fragment", ["<b>", "a & b", "</x><x>", "<![CDATA[", "&nbsp;"])
def test_bad_fragments(fragment: str) -> None:
    with pytest.raises(InputError, match="not well-formed"):
        check_fragment(fragment, PATH)


def test_good_fragments() -> None:
    check_fragment('a <mq:b x="1"/> &amp; &#8222; <![CDATA[<]]>', PATH)


def test_an_inherited_attribute() -> None:
    deepest = [*parse('<a l="1"><b k="2"><c n="3"/></b></a>').root.iter()][-1]
    assert (deepest.inherited("l"), deepest.inherited("k", "l"), deepest.inherited("m")) == ("1", "2", "")
    assert deepest.inherited("n") == "3"


@given(XML_TEXT | st.text("a\r\n\t<&>\"'"))
def test_escaped_texts_are_read_back(text: str) -> None:
    element = parse(f'<a b="{escape_attribute(text)}">{escape_text(text)}</a>').root
    assert (element.attributes["b"], element.text()) == (text, text)


@given(st.lists(TREES, max_size=4), st.sampled_from(["", '<?xml version="1.0" encoding="UTF-8"?>\n', "\ufeff"]))
def test_ranges_are_those_of_lxml(parts: list[str], start: str) -> None:
    """Each range holds one element as lxml reads it, and text and attributes are the same."""
    content = f"{start}<r xmlns:x='x'>{''.join(parts)}</r>".encode()
    found = XmlDocument.parse(content, PATH)
    elements = list(found.root.iter())
    peers = [node for node in etree.fromstring(content).iter() if isinstance(node.tag, str)]
    assert [_form(element) for element in elements] == [
        (etree.QName(peer).localname, "".join(peer.itertext(etree.Element)), peer.attrib.get("v")) for peer in peers
    ]
    for element in elements:
        alone = XmlDocument.parse(found.utf8[element.start : element.end], PATH)
        assert (alone.root.tag, alone.root.text()) == (element.tag, element.text())


def _form(element: XmlElement) -> tuple[str, str, str | None]:
    return element.name, element.text(), element.attributes.get("v")


@given(st.lists(TREES, min_size=1, max_size=4), XML_TEXT)
def test_one_element_is_changed_and_no_other(parts: list[str], text: str) -> None:
    content = f"<r>{''.join(parts)}</r>".encode()
    found = XmlDocument.parse(content, PATH)
    for element in found.root.iter():
        edit: Edit = found.set_inner(element, escape_text(text))
        new = found.spliced([edit])
        assert new[: element.start] == content[: element.start]
        assert new.endswith(content[element.end :])
        assert XmlDocument.parse(new, PATH).spliced([]) == new

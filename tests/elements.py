"""HTML as elements in each other, for tests of pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "link"}


@dataclass
class Node:
    """An element, the elements in it and its text."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def all(self, tag: str = "", css: str = "") -> list[Node]:
        """The elements below it of a tag and with a class."""
        found: list[Node] = []
        for child in self.children:
            if isinstance(child, Node):
                if tag in ("", child.tag) and (not css or css in child.classes):
                    found.append(child)
                found += child.all(tag, css)
        return found

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)


class Reader(HTMLParser):
    """Reads a page, each element of which has to be closed in its order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.top = Node("", {})
        self._open = [self.top]
        self.feed(html)
        self.close()
        assert self._open == [self.top]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

"""The elements of a page, read back from its HTML."""

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "col", "link", "img", "input"}


class Tree(HTMLParser):
    """Elements with their attributes and text; complains of what is not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        one = {"tag": tag, "attrs": dict(attrs), "text": "", "above": [o["tag"] for o in self.open]}
        self.elements.append(one)
        if tag not in VOID:
            self.open.append(one)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for one in self.open:
            one["text"] += data

    def all(self, tag):
        return [one for one in self.elements if one["tag"] == tag]

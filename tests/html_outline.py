"""The tags, attributes and words of an HTML page, for tests of what it holds."""

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "link", "input"}


class Outline(HTMLParser):
    """Collects tags, attributes and words, and checks that every tag is closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self):
        return "\n".join(self.words)

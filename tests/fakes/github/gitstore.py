"""A small Git object store with real object names, so that SHAs behave as they do in Git."""

import hashlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a tree."""

    mode: str
    sha: str

    @property
    def type(self) -> str:
        """The kind of object the entry points to."""
        return {"040000": "tree", "160000": "commit"}.get(self.mode, "blob")


@dataclass(frozen=True, slots=True)
class Person:
    """An author, committer or tagger."""

    name: str
    email: str
    date: str

    def shape(self) -> dict[str, str]:
        """The person as the API shows it."""
        return {"name": self.name, "email": self.email, "date": self.date}

    def __str__(self) -> str:
        """The person as Git writes it into an object."""
        return f"{self.name} <{self.email}> {int(datetime.fromisoformat(self.date).timestamp())} +0000"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str
    author: Person
    committer: Person


@dataclass(frozen=True, slots=True)
class Tag:
    """An annotated tag."""

    sha: str
    name: str
    message: str
    target: str
    target_type: str
    tagger: Person


Files = dict[str, Entry]


def object_name(kind: str, data: bytes) -> str:
    """The SHA-1 Git gives an object."""
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


class GitStore:
    """Blobs, trees, commits, tags and refs of one repository."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, dict[str, Entry]] = {}
        self.commits: dict[str, Commit] = {}
        self.tags: dict[str, Tag] = {}
        self.refs: dict[str, str] = {}

    def add_blob(self, data: bytes) -> str:
        """Keep a blob."""
        sha = object_name("blob", data)
        self.blobs[sha] = data
        return sha

    def add_tree(self, entries: Mapping[str, Entry]) -> str:
        """Keep one level of a tree."""
        ordered = sorted(entries.items(), key=lambda item: item[0] + ("/" if item[1].type == "tree" else ""))
        data = b"".join(
            f"{entry.mode.lstrip('0')} {name}\0".encode() + bytes.fromhex(entry.sha) for name, entry in ordered
        )
        sha = object_name("tree", data)
        self.trees[sha] = dict(ordered)
        return sha

    def add_files(self, files: Mapping[str, Entry]) -> str:
        """Keep the nested trees of a flat listing and give the root."""
        level: dict[str, Entry] = {}
        below: dict[str, dict[str, Entry]] = {}
        for path, entry in files.items():
            head, _, rest = path.partition("/")
            if rest:
                below.setdefault(head, {})[rest] = entry
            else:
                level[head] = entry
        for name, inner in below.items():
            level[name] = Entry("040000", self.add_files(inner))
        return self.add_tree(level)

    def add_commit(
        self, tree: str, parents: tuple[str, ...], message: str, author: Person, committer: Person, sha: str | None
    ) -> Commit:
        """Keep a commit; a given `sha` stands for one whose real content the test does not care about."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {author}", f"committer {committer}", "", message]
        name = sha or object_name("commit", "\n".join(lines).encode())
        commit = Commit(name, tree, parents, message, author, committer)
        self.commits[name] = commit
        return commit

    def add_tag(self, name: str, message: str, target: str, target_type: str, tagger: Person) -> Tag:
        """Keep an annotated tag."""
        text = f"object {target}\ntype {target_type}\ntag {name}\ntagger {tagger}\n\n{message}"
        tag = Tag(object_name("tag", text.encode()), name, message, target, target_type, tagger)
        self.tags[tag.sha] = tag
        return tag

    def walk(self, tree: str, prefix: str = "") -> Iterator[tuple[str, Entry]]:
        """Every entry below a tree, folders before what is in them."""
        for name, entry in self.trees[tree].items():
            yield prefix + name, entry
            if entry.type == "tree":
                yield from self.walk(entry.sha, f"{prefix}{name}/")

    def files(self, tree: str) -> Files:
        """The files below a tree, flat."""
        return {path: entry for path, entry in self.walk(tree) if entry.type != "tree"}

    def resolve(self, name: str) -> Commit | None:
        """The commit a branch, tag, full ref, SHA or SHA prefix means."""
        for ref in (name, f"refs/{name}", f"refs/heads/{name}", f"refs/tags/{name}"):
            if ref in self.refs:
                return self.commits.get(self._peel(self.refs[ref]))
        if len(name) >= 7:
            return next((commit for sha, commit in self.commits.items() if sha.startswith(name)), None)
        return None

    def _peel(self, sha: str) -> str:
        while sha in self.tags:
            sha = self.tags[sha].target
        return sha

    def ancestors(self, sha: str) -> list[str]:
        """The commit and everything before it, nearest first."""
        seen: dict[str, None] = {}
        queue = [sha]
        while queue:
            current = queue.pop(0)
            if current in self.commits and current not in seen:
                seen[current] = None
                queue += self.commits[current].parents
        return list(seen)

    def merge_base(self, one: str, other: str) -> str | None:
        """The nearest commit that both contain."""
        known = set(self.ancestors(one))
        return next((sha for sha in self.ancestors(other) if sha in known), None)

    def kind(self, sha: str) -> str | None:
        """What an object is, or None when there is none."""
        tables: dict[str, Container[str]] = {
            "blob": self.blobs,
            "tree": self.trees,
            "commit": self.commits,
            "tag": self.tags,
        }
        return next((kind for kind, table in tables.items() if sha in table), None)

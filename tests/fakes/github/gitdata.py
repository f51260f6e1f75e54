"""Git data: blobs, trees, commits, refs and tags."""

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any

from tests.fakes.github.commits import UNSIGNED
from tests.fakes.github.gitstore import Commit, Entry, Person, Tag
from tests.fakes.github.issues import REPO
from tests.fakes.github.records import Pull
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import ApiError, Reply, not_found

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo

ROUTES = RouteTable()
BAD_REF = re.compile(r"[\s~^:?*\[\\]|\.\.|//|/$|\.lock$|@\{|^refs/(?!.+/.+)|^(?!refs/)")


def decode(content: str, encoding: str) -> bytes:
    """The bytes of a blob as it was sent."""
    if encoding != "base64":
        return content.encode()
    try:
        return base64.b64decode(content)
    except binascii.Error as problem:
        raise ApiError(422, "content is not valid Base64") from problem


def encode(data: bytes) -> str:
    """Base64 with a line break every 60 characters, as GitHub sends it."""
    text = base64.b64encode(data).decode()
    return "".join(f"{text[start : start + 60]}\n" for start in range(0, len(text), 60))


def commit_shape(repo: "FakeRepo", commit: Commit) -> dict[str, Any]:
    """A commit as the Git data family shows it."""
    html = f"{repo.html_url}/commit"
    return {
        "sha": commit.sha,
        "node_id": f"C_{commit.sha}",
        "url": f"{repo.url}/git/commits/{commit.sha}",
        "html_url": f"{html}/{commit.sha}",
        "author": commit.author.shape(),
        "committer": commit.committer.shape(),
        "message": commit.message,
        "tree": {"sha": commit.tree, "url": f"{repo.url}/git/trees/{commit.tree}"},
        "parents": [
            {"sha": sha, "url": f"{repo.url}/git/commits/{sha}", "html_url": f"{html}/{sha}"} for sha in commit.parents
        ],
        "verification": UNSIGNED,
    }


def ref_shape(repo: "FakeRepo", ref: str) -> dict[str, Any]:
    """A ref and what it points to."""
    sha = repo.git.refs[ref]
    kind = repo.git.kind(sha) or "commit"
    target = {"sha": sha, "type": kind, "url": f"{repo.url}/git/{kind}s/{sha}"}
    return {"ref": ref, "node_id": f"REF_{ref}", "url": f"{repo.url}/git/{ref}", "object": target}


def tree_shape(repo: "FakeRepo", sha: str, *, recursive: bool) -> dict[str, Any]:
    """A tree, one level or all of them."""
    walked = repo.git.walk(sha) if recursive else iter(repo.git.trees[sha].items())
    entries = []
    for path, entry in walked:
        shown: dict[str, Any] = {"path": path, "mode": entry.mode, "type": entry.type, "sha": entry.sha}
        if entry.type == "blob":
            shown["size"] = len(repo.git.blobs.get(entry.sha, b""))
        entries.append({**shown, "url": f"{repo.url}/git/{entry.type}s/{entry.sha}"})
    return {"sha": sha, "url": f"{repo.url}/git/trees/{sha}", "tree": entries, "truncated": False}


@ROUTES.on("POST", f"{REPO}/git/blobs", "contents")
def create_blob(call: Call) -> Reply:
    """A new blob."""
    if "content" not in call.body:
        call.need("content")
    sha = call.repo.git.add_blob(decode(call.body["content"], call.body.get("encoding", "utf-8")))
    url = f"{call.repo.url}/git/blobs/{sha}"
    return Reply(201, {"sha": sha, "url": url}, headers={"Location": url})


@ROUTES.on("GET", f"{REPO}/git/blobs/{{file_sha}}", "contents")
def show_blob(call: Call) -> Reply:
    """One blob."""
    sha = call.params["file_sha"]
    data = call.repo.git.blobs.get(sha)
    if data is None:
        raise not_found()
    value = {"sha": sha, "node_id": f"B_{sha}", "size": len(data), "url": f"{call.repo.url}/git/blobs/{sha}"}
    return Reply(200, {**value, "content": encode(data), "encoding": "base64"})


@ROUTES.on("POST", f"{REPO}/git/trees", "contents")
def create_tree(call: Call) -> Reply:
    """A new tree, on top of `base_tree` where it is given; a null SHA removes a path."""
    (entries,), git = call.need("tree"), call.repo.git
    base = call.body.get("base_tree")
    if base is not None and base not in git.trees:
        base = git.commits[base].tree if base in git.commits else None
        if base is None:
            raise ApiError(404, "Not Found")
    files = {} if base is None else git.files(base)
    for sent in entries:
        _put_entry(call, files, sent)
    sha = git.add_files(files)
    shown = tree_shape(call.repo, sha, recursive=False)
    return Reply(201, shown, headers={"Location": shown["url"]})


def _put_entry(call: Call, files: dict[str, Entry], sent: dict[str, Any]) -> None:
    git, path = call.repo.git, sent["path"]
    if path.startswith("/") or ".." in path.split("/") or ".git" in path.split("/"):
        raise ApiError(422, "tree.path contains a malformed path component")
    if "content" in sent:
        files[path] = Entry(sent.get("mode", "100644"), git.add_blob(sent["content"].encode()))
    elif sent.get("sha") is None:
        if path not in files:
            raise ApiError(422, "GitRPC::BadObjectState")
        del files[path]
    elif git.kind(sent["sha"]) == "tree":
        files.update({f"{path}/{name}": entry for name, entry in git.files(sent["sha"]).items()})
    elif git.kind(sent["sha"]) == "blob":
        files[path] = Entry(sent.get("mode", "100644"), sent["sha"])
    else:
        raise ApiError(422, f"tree.sha {sent['sha']} is not a valid {sent.get('type', 'blob')}")


@ROUTES.on("GET", f"{REPO}/git/trees/{{tree_sha}}", "contents")
def show_tree(call: Call) -> Reply:
    """One tree, named by its SHA, a commit or a branch."""
    name, git = call.params["tree_sha"], call.repo.git
    commit = git.resolve(name)
    sha = name if name in git.trees else commit.tree if commit else None
    if sha is None:
        raise not_found()
    return Reply(200, tree_shape(call.repo, sha, recursive="recursive" in call.query))


def _person(call: Call, sent: dict[str, Any] | None, default: Person) -> Person:
    if sent is None:
        return default
    return Person(sent["name"], sent["email"], sent.get("date") or default.date)


@ROUTES.on("POST", f"{REPO}/git/commits", "contents")
def create_commit(call: Call) -> Reply:
    """A new commit that no ref points to yet."""
    (message, tree), git = call.need("message", "tree"), call.repo.git
    parents = tuple(call.body.get("parents") or ())
    if tree not in git.trees:
        raise ApiError(422, "Tree SHA does not exist")
    if any(sha not in git.commits for sha in parents):
        raise ApiError(422, "Parent SHA does not exist or is not a commit object")
    author = _person(call, call.body.get("author"), call.repo.person(call.login))
    committer = _person(call, call.body.get("committer"), author)
    shown = commit_shape(call.repo, git.add_commit(tree, parents, message, author, committer, None))
    return Reply(201, shown, headers={"Location": shown["url"]})


@ROUTES.on("GET", f"{REPO}/git/commits/{{commit_sha}}", "contents")
def show_commit(call: Call) -> Reply:
    """One commit."""
    found = call.repo.git.commits.get(call.params["commit_sha"])
    if found is None:
        raise not_found()
    return Reply(200, commit_shape(call.repo, found))


@ROUTES.on("GET", f"{REPO}/git/ref/{{ref}}", "contents")
def show_ref(call: Call) -> Reply:
    """One ref, named without its leading `refs/`."""
    ref = f"refs/{call.params['ref']}"
    if ref not in call.repo.git.refs:
        raise not_found()
    return Reply(200, ref_shape(call.repo, ref))


@ROUTES.on("GET", f"{REPO}/git/matching-refs/{{ref}}", "contents")
def match_refs(call: Call) -> Reply:
    """The refs that start with a text."""
    start = f"refs/{call.params['ref']}"
    found = sorted(ref for ref in call.repo.git.refs if ref.startswith(start))
    return call.page(found, lambda ref: ref_shape(call.repo, ref))


@ROUTES.on("POST", f"{REPO}/git/refs", "contents")
def create_ref(call: Call) -> Reply:
    """A new ref."""
    (ref, sha), git = call.need("ref", "sha"), call.repo.git
    if BAD_REF.search(ref):
        raise ApiError(422, f"{ref} is not a valid ref name.")
    if git.kind(sha) is None:
        raise ApiError(422, "Object does not exist")
    if ref in git.refs:
        raise ApiError(422, "Reference already exists")
    git.refs[ref] = sha
    shown = ref_shape(call.repo, ref)
    return Reply(201, shown, headers={"Location": shown["url"]})


@ROUTES.on("PATCH", f"{REPO}/git/refs/{{ref}}", "contents")
def update_ref(call: Call) -> Reply:
    """A moved ref; without force only forward."""
    (sha,), git, ref = call.need("sha"), call.repo.git, f"refs/{call.params['ref']}"
    if ref not in git.refs:
        raise ApiError(422, "Reference does not exist")
    if git.kind(sha) is None:
        raise ApiError(422, "Object does not exist")
    if not call.body.get("force") and git.refs[ref] not in git.ancestors(sha):
        raise ApiError(422, "Update is not a fast forward")
    git.refs[ref] = sha
    for pull in call.repo.pulls.values():
        if pull.head_repo == call.repo.full_name and ref == f"refs/heads/{pull.head_ref}":
            refresh_pull(call.repo, pull, sha)
    return Reply(200, ref_shape(call.repo, ref))


def refresh_pull(repo: "FakeRepo", pull: Pull, sha: str) -> None:
    """A pull request after a push to its branch."""
    pull.head_sha = sha
    repo.git.refs[f"refs/pull/{pull.number}/head"] = sha
    known = repo.git.ancestors(pull.base_sha)
    pull.commits = [one for one in reversed(repo.git.ancestors(sha)) if one not in known]
    pull.files = repo.changes(pull.base_sha, sha)


@ROUTES.on("DELETE", f"{REPO}/git/refs/{{ref}}", "contents")
def delete_ref(call: Call) -> Reply:
    """The ref is gone."""
    ref = f"refs/{call.params['ref']}"
    if call.repo.git.refs.pop(ref, None) is None:
        raise ApiError(422, "Reference does not exist")
    return Reply(204)


def tag_shape(repo: "FakeRepo", tag: Tag) -> dict[str, Any]:
    """An annotated tag."""
    target = {"sha": tag.target, "type": tag.target_type, "url": f"{repo.url}/git/{tag.target_type}s/{tag.target}"}
    return {
        "node_id": f"T_{tag.sha}",
        "sha": tag.sha,
        "url": f"{repo.url}/git/tags/{tag.sha}",
        "tagger": tag.tagger.shape(),
        "object": target,
        "tag": tag.name,
        "message": tag.message,
        "verification": UNSIGNED,
    }


@ROUTES.on("POST", f"{REPO}/git/tags", "contents")
def create_tag(call: Call) -> Reply:
    """A new annotated tag that no ref points to yet."""
    (name, message, target, kind), git = call.need("tag", "message", "object", "type"), call.repo.git
    if git.kind(target) != kind:
        raise ApiError(422, "Object does not exist")
    tagger = _person(call, call.body.get("tagger"), call.repo.person(call.login))
    shown = tag_shape(call.repo, git.add_tag(name, message, target, kind, tagger))
    return Reply(201, shown, headers={"Location": shown["url"]})


@ROUTES.on("GET", f"{REPO}/git/tags/{{tag_sha}}", "contents")
def show_tag(call: Call) -> Reply:
    """One annotated tag."""
    found = call.repo.git.tags.get(call.params["tag_sha"])
    if found is None:
        raise not_found()
    return Reply(200, tag_shape(call.repo, found))

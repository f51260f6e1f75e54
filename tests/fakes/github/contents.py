"""Files and folders of a branch, read and written."""

from typing import TYPE_CHECKING, Any

from tests.fakes.github.gitdata import commit_shape, decode, encode, refresh_pull
from tests.fakes.github.gitstore import Commit, Entry
from tests.fakes.github.issues import REPO
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import ApiError, Reply, not_found

if TYPE_CHECKING:
    from tests.fakes.github.repo import FakeRepo

ROUTES = RouteTable()


def entry_shape(repo: "FakeRepo", path: str, entry: Entry, ref: str) -> dict[str, Any]:
    """A file, folder, link or submodule without its content."""
    is_folder, name = entry.type == "tree", path.rpartition("/")[2]
    kind = "dir" if is_folder else {"120000": "symlink", "160000": "submodule"}.get(entry.mode, "file")
    url, html = f"{repo.url}/contents/{path}?ref={ref}", f"{repo.html_url}/{'tree' if is_folder else 'blob'}/{ref}"
    git_url = f"{repo.url}/git/{'trees' if is_folder else 'blobs'}/{entry.sha}"
    return {
        "type": kind,
        "size": len(repo.git.blobs.get(entry.sha, b"")),
        "name": name,
        "path": path,
        "sha": entry.sha,
        "url": url,
        "git_url": git_url,
        "html_url": f"{html}/{path}",
        "download_url": None if is_folder else f"{repo.html_url}/raw/{ref}/{path}",
        "_links": {"git": git_url, "html": f"{html}/{path}", "self": url},
    }


def _at(call: Call) -> tuple[Commit, str]:
    ref = call.query.get("ref", call.repo.default_branch)
    commit = call.repo.git.resolve(ref)
    if commit is None:
        raise ApiError(404, f"No commit found for the ref {ref}")
    return commit, ref


def _file_reply(call: Call, path: str, entry: Entry, ref: str) -> Reply:
    data = call.repo.git.blobs.get(entry.sha, b"")
    if ".raw" in call.request.headers.get("accept", ""):
        media = "application/vnd.github.v3.raw; charset=utf-8"
        return Reply(200, raw=data, content_type=media)
    shown = entry_shape(call.repo, path, entry, ref)
    if shown["type"] == "symlink":
        return Reply(200, {**shown, "target": data.decode()})
    return Reply(200, {**shown, "encoding": "base64", "content": encode(data)})


@ROUTES.on("GET", f"{REPO}/contents/{{path}}", "contents")
def show_contents(call: Call) -> Reply:
    """A file with its content, raw when the media type asks for it, or the entries of a folder."""
    commit, ref = _at(call)
    path = call.params["path"].strip("/")
    top = Entry("040000", commit.tree)
    found = dict(call.repo.git.walk(commit.tree)).get(path) if path else top
    if found is None:
        raise not_found()
    if found.type == "tree":
        inner = call.repo.git.trees[found.sha].items()
        return Reply(200, [entry_shape(call.repo, f"{path}/{name}".lstrip("/"), entry, ref) for name, entry in inner])
    return _file_reply(call, path, found, ref)


@ROUTES.on("GET", f"{REPO}/readme", "contents")
def show_readme(call: Call) -> Reply:
    """The README at the top."""
    commit, ref = _at(call)
    for name, entry in call.repo.git.trees[commit.tree].items():
        if name.lower().startswith("readme"):
            return _file_reply(call, name, entry, ref)
    raise not_found()


def _branch(call: Call) -> tuple[str, Commit]:
    name = call.body.get("branch") or call.repo.default_branch
    tip = call.repo.git.refs.get(f"refs/heads/{name}")
    if tip is None:
        raise ApiError(404, f"Branch {name} not found")
    return name, call.repo.git.commits[tip]


def _check_sha(call: Call, known: Entry | None) -> None:
    sent = call.body.get("sha")
    if known is not None and sent is None:
        raise ApiError(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if known is not None and sent != known.sha:
        raise ApiError(409, f"{call.params['path']} does not match {sent}")


def _commit(call: Call, branch: str, tip: Commit, files: dict[str, Entry], message: str) -> dict[str, Any]:
    repo, person = call.repo, call.repo.person(call.login)
    tree = repo.git.add_files(files)
    made = repo.git.add_commit(tree, (tip.sha,), message, person, person, None)
    repo.git.refs[f"refs/heads/{branch}"] = made.sha
    for pull in repo.pulls.values():
        if (pull.head_repo, pull.head_ref) == (repo.full_name, branch):
            refresh_pull(repo, pull, made.sha)
    return commit_shape(repo, made)


@ROUTES.on("PUT", f"{REPO}/contents/{{path}}", "contents")
def put_contents(call: Call) -> Reply:
    """A new or changed file, as one commit; a changed one must name the version it replaces."""
    message, content = call.need("message", "content")
    branch, tip = _branch(call)
    path, files = call.params["path"], call.repo.git.files(tip.tree)
    known = files.get(path)
    _check_sha(call, known)
    entry = Entry("100644" if known is None else known.mode, call.repo.git.add_blob(decode(content, "base64")))
    commit = _commit(call, branch, tip, {**files, path: entry}, message)
    value = {"content": entry_shape(call.repo, path, entry, branch), "commit": commit}
    return Reply(201 if known is None else 200, value)


@ROUTES.on("DELETE", f"{REPO}/contents/{{path}}", "contents")
def delete_contents(call: Call) -> Reply:
    """A removed file, as one commit."""
    message, _ = call.need("message", "sha")
    branch, tip = _branch(call)
    files = call.repo.git.files(tip.tree)
    known = files.pop(call.params["path"], None)
    if known is None:
        raise not_found()
    _check_sha(call, known)
    return Reply(200, {"content": None, "commit": _commit(call, branch, tip, files, message)})

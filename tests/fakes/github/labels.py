"""Labels of repositories and of issues."""

from typing import Any

from tests.fakes.github import shapes
from tests.fakes.github.issues import EITHER, REPO, get_issue
from tests.fakes.github.records import Issue, Label
from tests.fakes.github.routing import Call, RouteTable
from tests.fakes.github.wire import ApiError, Reply, invalid, not_found

ROUTES = RouteTable()


def _label(call: Call) -> Label:
    found = call.repo.labels.get(call.params["name"].lower())
    if found is None:
        raise not_found()
    return found


@ROUTES.on("GET", f"{REPO}/labels", *EITHER)
def list_labels(call: Call) -> Reply:
    """The labels of the repository."""
    return call.page(list(call.repo.labels.values()), lambda one: shapes.label(call.repo, one))


@ROUTES.on("POST", f"{REPO}/labels", *EITHER)
def create_label(call: Call) -> Reply:
    """A new label."""
    (name,) = call.need("name")
    if name.lower() in call.repo.labels:
        raise invalid("Label", "name", "already_exists")
    made = call.repo.add_label(name, call.body.get("color", "ededed"), call.body.get("description"))
    shown = shapes.label(call.repo, made)
    return Reply(201, shown, headers={"Location": shown["url"]})


@ROUTES.on("GET", f"{REPO}/labels/{{name}}", *EITHER)
def show_label(call: Call) -> Reply:
    """One label."""
    return Reply(200, shapes.label(call.repo, _label(call)))


@ROUTES.on("PATCH", f"{REPO}/labels/{{name}}", *EITHER)
def update_label(call: Call) -> Reply:
    """A label with a new colour or description."""
    found = _label(call)
    found.color = call.body.get("color", found.color)
    found.description = call.body.get("description", found.description)
    return Reply(200, shapes.label(call.repo, found))


@ROUTES.on("DELETE", f"{REPO}/labels/{{name}}", *EITHER)
def delete_label(call: Call) -> Reply:
    """The label is gone, from the issues too."""
    found = _label(call)
    del call.repo.labels[found.name.lower()]
    for item in call.repo.issues.values():
        item.labels = [name for name in item.labels if name != found.name]
    return Reply(204)


def _names(call: Call) -> list[str]:
    sent: Any = call.request.body
    listed = sent.get("labels", []) if isinstance(sent, dict) else sent or []
    if not isinstance(listed, list):
        raise ApiError(422, "Invalid request.\n\nFor 'properties/labels', it is not an array.")
    return [item if isinstance(item, str) else item["name"] for item in listed]


def _put(call: Call, item: Issue, names: list[str]) -> Reply:
    known = [call.repo.add_label(name).name for name in names]
    item.labels = list(dict.fromkeys(known))
    item.updated_at = call.world.clock.tick()
    return Reply(200, shapes.labels_of(call.repo, item))


@ROUTES.on("GET", f"{REPO}/issues/{{issue_number}}/labels", *EITHER)
def list_issue_labels(call: Call) -> Reply:
    """The labels of an issue."""
    names = get_issue(call).labels
    return call.page(names, lambda name: shapes.label(call.repo, call.repo.labels[name.lower()]))


@ROUTES.on("POST", f"{REPO}/issues/{{issue_number}}/labels", *EITHER)
def add_issue_labels(call: Call) -> Reply:
    """More labels on an issue; unknown ones are made."""
    item = get_issue(call)
    return _put(call, item, [*item.labels, *_names(call)])


@ROUTES.on("PUT", f"{REPO}/issues/{{issue_number}}/labels", *EITHER)
def set_issue_labels(call: Call) -> Reply:
    """Exactly these labels on an issue."""
    return _put(call, get_issue(call), _names(call))


@ROUTES.on("DELETE", f"{REPO}/issues/{{issue_number}}/labels/{{name}}", *EITHER)
def remove_issue_label(call: Call) -> Reply:
    """One label less on an issue."""
    item, name = get_issue(call), call.params["name"]
    kept = [one for one in item.labels if one.lower() != name.lower()]
    if kept == item.labels:
        raise ApiError(404, "Label does not exist")
    return _put(call, item, kept)


@ROUTES.on("DELETE", f"{REPO}/issues/{{issue_number}}/labels", *EITHER)
def clear_issue_labels(call: Call) -> Reply:
    """No label on an issue."""
    _put(call, get_issue(call), [])
    return Reply(204)


@ROUTES.on("POST", f"{REPO}/issues/{{issue_number}}/assignees", *EITHER)
def add_assignees(call: Call) -> Reply:
    """More assignees on an issue."""
    item = get_issue(call)
    item.assignees = list(dict.fromkeys([*item.assignees, *call.body.get("assignees", [])]))
    item.updated_at = call.world.clock.tick()
    return Reply(201, shapes.issue(call.repo, item))

"""What schemathesis must not change, and which of its findings are right answers."""

import atexit
import collections
import json
import os
from datetime import datetime, timedelta, timezone

import schemathesis

# The network, user and role of the caller: who changes them ends the caller's rights.
OWN = set(json.loads(os.environ["MARQUEE_OWN"]))

# Why a request that its schema allows can be refused with a code, perhaps of one field.
REFUSALS = {
    # What is stored decides.
    "error.referenced.object.not.found": "a generated reference leads nowhere",
    "error.reference.mismatch": "it leads to an object of another kind",
    "error.value.not.unique": "another object has the value",
    "error.property.immutable": "the object has another value",
    "error.transition.forbidden": "the object is in another state",
    "error.current.password.wrong": "it is that of the stored user",
    "error.cursor.invalid": "a list has not returned it",
    "error.position.invalid": "a list has not returned it",
    "error.field.unknown": "the parameter is a text of any property",
    # How the server is configured decides.
    "error.value.too.short /password": "--min-password-length",
    "error.password.common": "it has a list of common ones, and estimates how easily one is guessed",
    # Schemas of updates, which can leave out what a new object must have.
    "error.property.required": "a new object needs it",
    "error.id.required": "a new object of this type needs it",
    # What the request says elsewhere decides.
    "error.property.unknown": "fieldValidation is Strict",
    "error.id.mismatch": "the path has another id",
    "error.parameter.missing": "another parameter requires it, or the body lacks it",
    "error.parameter.conflict": "another parameter excludes it",
    "error.parameter.repeated": "a form with a list has its name twice",
    "error.segment.units.ambiguous": "two names of a property have different values",
    "error.token.request.invalid": "grant_type decides which members are required",
    "error.items.too.many /sites": "a role of scope OWN names none",
    "error.asset.file.missing": "assets are made by uploads alone",
    # The time decides.
    "error.token.expiry": "it has passed",
    # A form that the description gives, and no keyword of JSON Schema.
    "error.value.character": "U+0000 cannot be stored",
    "error.id.invalid": "a control character",
    "error.reference.malformed": "a control character",
    "error.header.invalid": "no entity tag",
    "error.batch.condition": "no entity tag",
    "error.form.syntax": "a part has no name",
    "error.value.order": "x-compare, a keyword of the service",
    "error.value.format": "a format of the service, such as currency",
    "error.parameter.invalid": "a text that is blank, or no condition",
    "error.range.not.satisfiable": "not within the content",
}

WRITES = {"POST", "PUT", "PATCH", "DELETE"}


def rename(value):
    """Gives objects of OWN that a body would write another id."""
    if isinstance(value, list):
        for item in value:
            rename(item)
    elif isinstance(value, dict):
        if isinstance(value.get("id"), str) and value["id"] in OWN:
            value["id"] += "-other"
        if isinstance(value.get("operations"), list):
            rename([item.get("object") for item in value["operations"] if isinstance(item, dict)])


# Objects that schemathesis_test.go has written: a schema cannot say of which type a
# ruleset has to be.
RULESETS = {"layoutRulesets": ["layout"], "sizeRulesets": ["size"], "siteRuleset": "inventory"}


def complete(body):
    """Makes right, of an object that its schema allows, what the schema cannot say."""
    for name, value in RULESETS.items():
        if body.get(name):
            body[name] = value
    if "expiryTime" in body:
        body["expiryTime"] = (datetime.now(timezone.utc) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    if "password" in body:
        body["password"] = "correct horse battery"
    if isinstance(body.get("userRoles"), dict):
        body["userRoles"] = {"rolesByNetwork": [{"network": "main", "roles": []}]}
    if isinstance(body.get("layoutParameters"), dict):
        body["layoutParameters"].pop("image", None)
    body.pop("sspConfigurations", None)  # sspconnections are made elsewhere


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.path == "/api/openapi.yaml":
        # A part of a document is not YAML, and schemathesis ends when it cannot read it.
        case.headers.pop("Range", None)
    if case.method.upper() not in WRITES:
        return
    if case.meta is not None and case.meta.generation.mode.is_positive and isinstance(case.body, dict):
        complete(case.body)
    rename(case.body)
    id = (case.path_parameters or {}).get("id")
    if isinstance(id, str) and id in OWN:
        id = case.path_parameters["id"] = id + "-other"
    # The path and a body name the same object, which a schema cannot say.
    positive = case.meta is not None and case.meta.generation.mode.is_positive
    for name in ("id", "segmentId"):
        if positive and id is not None and isinstance(case.body, dict) and name in case.body:
            case.body[name] = id


@schemathesis.hook
def filter_failure(context, failure, case, response):
    kind = type(failure).__name__
    if response.status_code == 206 and kind in ("JsonSchemaError", "MalformedJson"):
        return False  # a part of a document is not a document
    if case.path == "/api/openapi.yaml" and kind == "JsonSchemaError":
        return False  # the document says that it is text, which is what YAML is before it is read
    if case.path.endswith("/articles2") and kind == "AcceptedNegativeData":
        # Of its body, null and what only reading returns of a reference are not read, nor
        # what the query says, too.
        return False
    minimal = "return=minimal" in response.headers.get("preference-applied", [])
    if minimal and not response.content and kind in ("MissingContentType", "MalformedJson"):
        return False  # the client asked for no body
    if kind == "RejectedPositiveData":
        # HEAD has no body with codes; GET of the same path has.
        return case.method.upper() != "HEAD" and not expected(response)
    return True


def expected(response):
    """Whether each message of an error response has a code of REFUSALS."""
    try:
        messages = response.json()["messages"]
        fields = [f"{message['code']} {message['params'].get('field')}" for message in messages]
        return bool(messages) and all(field in REFUSALS or field.split()[0] in REFUSALS for field in fields)
    except (ValueError, KeyError, TypeError):
        return False


answers = collections.defaultdict(collections.Counter)


@schemathesis.hook
def after_call(context, case, response):
    if case.method.upper() == case.operation.method.upper():
        answers[case.operation.label][response.status_code] += 1


@atexit.register
def report():
    with open(os.environ["MARQUEE_ANSWERS"], "w") as file:
        json.dump(answers, file)

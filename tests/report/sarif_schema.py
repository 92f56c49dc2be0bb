"""The part of SARIF 2.1.0 that devlint writes, as a JSON schema.

It is written from the standard's text (OASIS, sarif-v2.1.0), each object under the number of
its section there. It is narrower than the standard: it has only the properties that devlint
writes and refuses all others, so that a new one must be looked up and added here.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def _object(*required: str, **properties: Schema) -> Schema:
    """An object with these properties and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _array(items: Schema, least: int = 0, unique: bool = False) -> Schema:
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": unique}


def _string(pattern: str) -> Schema:
    return {"type": "string", "pattern": pattern}


def _integer(least: int) -> Schema:
    return {"type": "integer", "minimum": least}


_TEXT = _string(r"\S")
_BOOLEAN: Schema = {"type": "boolean"}
_LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}

# RFC 3986. 3.4.3: a path is relative, with no scheme in its first segment, or a whole URI.
_CHARACTER = r"(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})"
_WEB_ADDRESS = _string(rf"^https://(?:{_CHARACTER}|[:/?#])+$")
_PATH = _string(rf"^(?:file:///{_CHARACTER}+|{_CHARACTER}+)(?:/(?:{_CHARACTER}|:)+)*$")

_SEMANTIC_VERSION = _string(
    r"^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$"
)

# 3.11 message, 3.12 multiformatMessageString
_MESSAGE = _object("text", text=_TEXT)
_FORMATTED = _object("text", text=_TEXT, markdown=_TEXT)

# 3.30 region: lines and columns count from 1
_REGION = _object(
    "startLine", "startColumn", "endLine", "endColumn",
    startLine=_integer(1), startColumn=_integer(1), endLine=_integer(1), endColumn=_integer(1),
)  # fmt: skip

# 3.4 artifactLocation, 3.29 physicalLocation, 3.28 location
_ARTIFACT = _object("uri", uri=_PATH)
_PHYSICAL = _object("artifactLocation", artifactLocation=_ARTIFACT, region=_REGION)
_LOCATION = _object(
    "physicalLocation", id=_integer(0), physicalLocation=_PHYSICAL, message=_MESSAGE
)

# 3.36 codeFlow, 3.37 threadFlow, 3.38 threadFlowLocation: none of them is empty
_THREAD_FLOW = _object("locations", locations=_array(_object("location", location=_LOCATION), 1))
_CODE_FLOW = _object("threadFlows", threadFlows=_array(_THREAD_FLOW, 1))

# 3.55 fix, 3.56 artifactChange, 3.57 replacement, 3.3 artifactContent
_CONTENT = _object("text", text={"type": "string"})
_REPLACEMENT = _object("deletedRegion", deletedRegion=_REGION, insertedContent=_CONTENT)
_CHANGE = _object(
    "artifactLocation",
    "replacements",
    artifactLocation=_ARTIFACT,
    replacements=_array(_REPLACEMENT, 1),
)
_FIX = _object(
    "artifactChanges", description=_MESSAGE, artifactChanges=_array(_CHANGE, 1, unique=True)
)

# 3.27 result, 3.8 properties (devlint's own)
_RESULT = _object(
    "ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints",
    ruleId=_TEXT,
    ruleIndex=_integer(0),
    level=_LEVEL,
    rank={"type": "number", "minimum": -1, "maximum": 100},
    message=_MESSAGE,
    locations=_array(_LOCATION, 1),
    relatedLocations=_array(_LOCATION, 1, unique=True),
    codeFlows=_array(_CODE_FLOW, 1),
    fixes=_array(_FIX, 1, unique=True),
    partialFingerprints={"type": "object", "additionalProperties": _TEXT},
    properties=_object("derivation", derivation=_array(_TEXT, 1, unique=True)),
)  # fmt: skip

# 3.49 reportingDescriptor, 3.50 reportingConfiguration, 3.8 properties (GitHub's own)
_RULE = _object(
    "id", "name", "helpUri", "defaultConfiguration", "properties",
    id=_TEXT,
    name=_TEXT,
    shortDescription=_FORMATTED,
    fullDescription=_FORMATTED,
    help=_FORMATTED,
    helpUri=_WEB_ADDRESS,
    defaultConfiguration=_object("enabled", "level", enabled=_BOOLEAN, level=_LEVEL),
    properties={
        "type": "object",
        "properties": {
            "tags": _array(_TEXT, unique=True),
            "precision": {"enum": ["very-high", "high", "medium", "low"]},
            "problem.severity": {"enum": ["error", "warning", "recommendation"]},
        },
        "additionalProperties": False,
    },
)  # fmt: skip

# 3.18 tool, 3.19 toolComponent
_DRIVER = _object(
    "name",
    name=_TEXT,
    version=_TEXT,
    semanticVersion=_SEMANTIC_VERSION,
    informationUri=_WEB_ADDRESS,
    rules=_array(_RULE, unique=True),
)

# 3.20 invocation, 3.58 notification
_NOTIFICATION = _object(
    "message", message=_MESSAGE, level=_LEVEL, locations=_array(_LOCATION, 1, unique=True)
)
_INVOCATION = _object(
    "executionSuccessful",
    executionSuccessful=_BOOLEAN,
    toolExecutionNotifications=_array(_NOTIFICATION, 1),
)

# 3.14 run, 3.17 runAutomationDetails
_COVERAGE = _object("decided", "unknown", decided={"type": "integer"}, unknown={"type": "object"})
_RUN = _object(
    "tool", "results",
    tool=_object("driver", driver=_DRIVER),
    automationDetails=_object("id", id=_TEXT),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=_array(_INVOCATION),
    properties=_object("coverage", coverage=_COVERAGE),
    results=_array(_RESULT),
)  # fmt: skip

# 3.13 sarifLog
SARIF: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "$schema": _WEB_ADDRESS,
        "version": {"const": "2.1.0"},
        "runs": _array(_RUN),
    },
    "required": ["$schema", "version", "runs"],
    "additionalProperties": False,
}

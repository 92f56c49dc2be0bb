"""What an editor says that it can do."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types as lsp


@dataclass(frozen=True, slots=True)
class Client:
    """Abilities of an editor that the server asks for."""

    related: bool = False
    """It shows the places of steps beside a diagnostic."""
    resolves: bool = False
    """It asks for the edit of an action when that is chosen."""
    versions: bool = False
    """It checks that an edit is one of the text that it has."""
    markdown: bool = False
    watches: bool = False
    configures: bool = False
    refreshes_hints: bool = False


def abilities(given: lsp.ClientCapabilities) -> Client:
    """Those of an editor, by what it says at the start."""
    text = given.text_document or lsp.TextDocumentClientCapabilities()
    workspace = given.workspace or lsp.WorkspaceClientCapabilities()
    published, actions, hover = text.publish_diagnostics, text.code_action, text.hover
    resolved = None if actions is None else actions.resolve_support
    formats = (None if hover is None else hover.content_format) or ()
    edits, watched = workspace.workspace_edit, workspace.did_change_watched_files
    hints = workspace.inlay_hint
    return Client(
        related=published is not None and bool(published.related_information),
        resolves=resolved is not None and "edit" in resolved.properties,
        versions=edits is not None and bool(edits.document_changes),
        markdown=lsp.MarkupKind.Markdown in formats,
        watches=watched is not None and bool(watched.dynamic_registration),
        configures=bool(workspace.configuration),
        refreshes_hints=hints is not None and bool(hints.refresh_support),
    )

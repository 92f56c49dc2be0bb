"""Functions of generated programs that ask where a tensor is, since the host reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammar import Chance

if TYPE_CHECKING:
    from grammar_bodies import Body

_ON_HOST = (
    ("", "not {}.is_cuda"),
    ("", "{}.is_cpu"),
    ("", "{}.device.type == 'cpu'"),
    ("", "{}.device.type in ('cpu', 'meta')"),
    ("", "{}.device == torch.device('cpu')"),
    ("", "str({}.device) == 'cpu'"),
    ("", "'cuda' not in str({}.device)"),
    ("", "{}.get_device() < 0"),
    ("{name} = {}.device", "{name}.type == 'cpu'"),
    ("{name} = {}.device.type", "{name} == 'cpu'"),
    ("{name} = {}.is_cuda", "not {name}"),
    ("{name} = {}.device.type == 'cpu'", "{name}"),
)
"""What is bound before, and what holds where a tensor is on the host."""


def asking(body: Body) -> None:
    """A function gives what flows to the host where it isn't there, and reads it; without care it
    does so where it is there."""
    chance, name, given = body.chance, body.new("function"), body.new()
    with body.rows.under(f"def {name}({given}):", "asking"):
        before, test = chance.dice.choice(_ON_HOST)
        local = body.new("other")
        if before:
            body.add(before.replace("{name}", local).replace("{}", given), "asking")
        test = test.replace("{name}", local).replace("{}", given)
        _read(body, chance, given, test if chance.is_right() else f"not ({test})")
    read = f"torch.from_numpy({name}({body.x})).to({body.x}.device)"
    body.flows_on(f"{body.x} + {read}", "asking-used")


def _read(body: Body, chance: Chance, given: str, on_host: str) -> None:
    """The rows that read a tensor, as it is where it is on the host."""
    match chance.dice.randrange(4):
        case 0:
            with body.rows.under(f"if {on_host}:", "asking"):
                body.add(f"return {given}.detach().numpy()", "asking-read")
            body.add(f"return {given}.detach().cpu().numpy()", "asking-read")
        case 1:
            with body.rows.under(f"if not ({on_host}):", "asking"):
                body.add(f"{given} = {given}.cpu()", "asking")
            body.add(f"return {given}.detach().numpy()", "asking-read")
        case 2:
            read = f"{given}.detach().numpy() if {on_host} else {given}.detach().cpu().numpy()"
            body.add(f"return {read}", "asking-read")
        case _:
            with body.rows.under(f"if {on_host}:", "asking"):
                body.add(f"rows = {given}.detach().numpy()", "asking-read")
            with body.rows.under("else:", "asking"):
                body.add(f"rows = {given}.detach().cpu().numpy()", "asking-read")
            body.add("return rows", "asking")

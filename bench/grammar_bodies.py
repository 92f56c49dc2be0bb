"""The bodies of functions of generated programs: rows that take a tensor of shape (batch, WIDTH)
and leave one of that shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grammar import WIDTH, Chance, Rows
from grammar_asking import asking


@dataclass(frozen=True)
class Attribute:
    """What `self` has: a vector, a mask, an index, a matrix, or modules."""

    name: str
    sort: str


@dataclass
class Body:
    """Where the rows of a function are written, and what they can use."""

    chance: Chance
    rows: Rows
    x: str
    """The tensor that flows."""
    devices: Sequence[str] = ()
    """Expressions for the device that it is on, or is to be on."""
    attributes: Sequence[Attribute] = ()
    call: Callable[[Body], str] | None = None
    """Makes a function, and gives a call of it with what flows."""
    depth: int = 0
    """How many blocks are around."""

    def add(self, text: str, production: str) -> None:
        self.rows.add(text, production)

    def new(self, sort: str = "tensor") -> str:
        return self.chance.names.new(sort)

    def flows_on(self, expression: str, production: str) -> None:
        """Bind the result of an expression: to the same name, or to a new one."""
        # Within a block only what has its name already is known behind it.
        name = self.x if self.depth or self.chance.dice.random() < 0.7 else self.new()
        self.add(f"{name} = {expression}", production)
        self.x = name

    def block(self) -> Body:
        """The same within a block."""
        return replace(self, depth=self.depth + 1)


Production = Callable[[Body], None]


def write_body(body: Body, length: int) -> None:
    """Write a number of productions."""
    for _ in range(length):
        dice = body.chance.dice
        productions = [*SIMPLE] + ([*NESTED] if body.depth < 2 else [])
        if body.attributes:
            productions += [use_attribute] * 8
        if body.call is not None:
            productions += [call_helper] * 3
        dice.choice(productions)(body)


def _made(body: Body, shapes: str = "any") -> tuple[str, str]:
    """An expression for a tensor that broadcasts with what flows, and how it is counted."""
    chance, x = body.chance, body.x
    place = chance.beside(x, body.devices)
    like = [
        f"torch.zeros_like({x})",
        f"torch.randn_like({x})",
        f"torch.empty_like({x}).fill_(0.5)",
        f"{x}.new_ones({x}.shape)",
        f"{x}.new_zeros({WIDTH})",
        f"torch.ones({WIDTH}).type_as({x})",
        f"torch.full_like({x}[0], 0.1)",
    ]
    if chance.one_in(4) and shapes == "any":
        return chance.pick(like), "made-like"
    key, move = place.keyword, place.move
    shape = chance.pick([f"{x}.shape", f"{x}.size()", f"{WIDTH}", f"{x}.shape[0], {WIDTH}"])
    if shapes == "vector":
        shape = f"{WIDTH}"
    makers = [
        f"torch.randn({shape}{key}){move}",
        f"torch.ones({shape}{key}){move}",
        f"torch.zeros({shape}{key}){move}",
        f"torch.rand({shape}{key}){move}",
    ]
    if shapes != "full":
        makers += [
            f"torch.linspace(0, 1, {WIDTH}{key}){move}",
            f"torch.tensor([0.1, 0.2, 0.3, 0.4]{key}){move}",
            f"torch.arange({WIDTH}{key}).float(){move}",
            f"torch.full(({WIDTH},), 0.5{key}){move}",
        ]
        if not key:
            makers.append(f"torch.from_numpy(np.ones({WIDTH}, dtype=np.float32)){move}")
            makers.append(f"torch.as_tensor([0.1] * {WIDTH}){move}")
    return chance.pick(makers), f"made-{place.name}"


def activation(body: Body) -> None:
    x = body.x
    forms = ["torch.relu({})", "{}.tanh()", "F.gelu({})", "{} * 2.0", "{}.clamp(-1, 1)"]
    forms += ["F.dropout({}, 0.1)", "{}.view(-1, 4)", "{}.softmax(dim=-1)", "{} - {}.mean()"]
    body.flows_on(body.chance.pick(forms).replace("{}", x), "activation")


def meet_made(body: Body) -> None:
    """Something made meets what flows."""
    made, production = _made(body)
    x, chance = body.x, body.chance
    if chance.one_in(3):
        body.flows_on(f"{x} + {made}", f"meet-inline/{production}")
        return
    name = body.new()
    body.add(f"{name} = {made}", production)
    forms = [
        f"{x} + {name}",
        f"{x} * {name}",
        f"{name} - {x}",
        f"torch.add({x}, {name})",
        f"torch.maximum({x}, {name}.expand_as({x}))",
        f"torch.where({x} > 0, {x}, {name})",
        f"{x}.mul({name})",
        f"torch.lerp({x}, {name}.expand_as({x}), 0.5)",
        f"torch.stack([{x}, {name}.expand_as({x})]).sum(0)",
        f"torch.cat([{x}, {name}.expand_as({x})])[:{x}.shape[0]]",
        f"F.layer_norm({x}, ({WIDTH},)) + {name}",
    ]
    if chance.one_in(6):
        body.add(f"{x} = {x}.clone()", "clone")
        body.add(f"{x} += {name}", "meet-in-place")
        return
    body.flows_on(chance.pick(forms), "meet")


def meet_scalar(body: Body) -> None:
    """A tensor without dimensions, which may be on the host."""
    x, chance = body.x, body.chance
    forms = [
        f"{x} * torch.tensor(0.5)",
        f"torch.where({x} > 0, {x}, torch.tensor(0.0))",
        f"{x} / torch.tensor({WIDTH}.0).sqrt()",
        f"{x} + torch.ones(()).mul(2)",
        f"{x} * torch.ones(3).mean()",
        f"torch.stack([{x}.mean(), torch.tensor(1.0)]).sum() + {x}",
        f"{x}.masked_fill({x} < 0, torch.tensor(0.0))",
    ]
    if chance.is_right():
        forms = forms[:5] + forms[6:]
    body.flows_on(chance.pick(forms), "scalar")


def mask(body: Body) -> None:
    x, name, chance = body.x, body.new(), body.chance
    place = chance.beside(x, body.devices)
    key, move = place.keyword, place.move
    if ".to(" in move and ".device" not in move and move == f".to({x})":
        move = f".to({x}.device)"  # a mask stays one of bool
    made = chance.pick(
        [
            f"torch.arange({WIDTH}{key}){move} < 2",
            f"(torch.arange({x}.size(1){key}) % 2 == 0){move}",
            f"torch.ones({WIDTH}, dtype=torch.bool{key}){move}",
        ]
    )
    body.add(f"{name} = {made}", f"mask-{place.name}")
    forms = [
        f"{x}.masked_fill({name}, 0.0)",
        f"{x} * {name}",
        f"torch.where({name}, {x}, torch.zeros_like({x}))",
        f"{x}.masked_fill(~{name}, float('-inf')).softmax(-1)",
    ]
    if chance.one_in(4):
        body.add(f"{x} = {x}.clone()", "clone")
        body.add(f"{x}[:, {name}] = 0.0", "mask-assigned")
        return
    body.flows_on(chance.pick(forms), "mask-used")


def index(body: Body) -> None:
    x, name, chance = body.x, body.new(), body.chance
    place = chance.beside(x, body.devices)
    key, move = place.keyword, place.move
    if move == f".to({x})":
        move = f".to({x}.device)"
    made = chance.pick(
        [
            f"torch.randperm({WIDTH}{key}){move}",
            f"torch.arange({WIDTH}{key}){move}",
            f"torch.tensor([0, 1, 2, 3]{key}){move}",
        ]
    )
    body.add(f"{name} = {made}", f"index-{place.name}")
    forms = [
        f"{x}[:, {name}]",
        f"{x}.index_select(1, {name})",
        f"torch.index_select({x}, 1, {name})",
        f"{x}.gather(1, {name}.expand({x}.size(0), -1))",
        f"{x} + F.one_hot({name}, {WIDTH}).float()[0]",
    ]
    body.flows_on(chance.pick(forms), "index-used")


def table(body: Body) -> None:
    """A tensor that is made is indexed by what flows."""
    x, name, chance = body.x, body.new(), body.chance
    made, production = _made(body, "full")
    if "shape" in made or "size" in made:
        made = made.replace(f"{x}.shape[0], {WIDTH}", f"{WIDTH}, {WIDTH}")
        made = made.replace(f"({x}.shape", f"({WIDTH}, {WIDTH}").replace(
            f"({x}.size()", f"({WIDTH}, {WIDTH}"
        )
    else:
        made = made.replace(f"({WIDTH}", f"({WIDTH}, {WIDTH}", 1)
    body.add(f"{name} = {made}", production)
    forms = [
        f"{x} + {name}[{x}.argmax(dim=1)]",
        f"{x} + F.embedding({x}.argmax(dim=1), {name})",
        f"{x} @ {name}",
        f"F.linear({x}, {name})",
        f"torch.einsum('bi,ij->bj', {x}, {name})",
        f"torch.mm({x}, {name})",
        f"{x} + {name}.index_select(0, {x}.argmax(dim=1))",
    ]
    body.flows_on(chance.pick(forms), "table-used")


def to_host(body: Body) -> None:
    """What flows is read on the host."""
    x, name, chance = body.x, body.new("other"), body.chance
    right = chance.is_right()
    read = chance.pick(
        [f"{x}.detach().cpu().numpy()", f"np.asarray({x}.detach().cpu())"]
        if right
        else [f"{x}.detach().numpy()", f"np.asarray({x}.detach())", f"np.array({x}.detach())"]
    )
    if chance.one_in(3):
        forms = [f"{x}.mean().item()", f"float({x}.sum())", f"len({x}.tolist())"]
        body.add(f"{name} = {chance.pick(forms)}", "host-number")
        body.flows_on(f"{x} * (1.0 + 0.0 * {name})", "host-number-used")
        return
    body.add(f"{name} = {read}", "host-right" if right else "host-wrong")
    if chance.one_in(2):
        body.flows_on(f"{x} + float({name}.mean())", "host-used")
        return
    back = f".to({x}.device)" if chance.is_right() else ""
    body.flows_on(f"{x} + torch.from_numpy({name}){back}", f"host-back{'-moved' * bool(back)}")


def there_and_back(body: Body) -> None:
    x, name, chance = body.x, body.new(), body.chance
    body.add(f"{name} = {chance.pick([f'{x}.cpu()', f'{x}.detach().cpu()', f'{x}.mean(0).cpu()'])}",
             "to-host")  # fmt: skip
    back = f".to({x}.device)" if chance.is_right() else ""
    body.flows_on(f"{x} - {name}{back}", "back" if back else "not-back")


def fill(body: Body) -> None:
    """A tensor is made and filled."""
    x, chance = body.x, body.chance
    name = body.new()
    made, production = _made(body, "full")
    made = made.replace(f"({WIDTH}", f"({x}.size(0), {WIDTH}", 1)
    body.add(f"{name} = {made}", production)
    forms = [f"{name}[:] = {x}", f"{name}.copy_({x})", f"{name}[:, 0] = {x}[:, 0]",
             f"{name} += {x}", f"{name}[0] = {x}[0]", f"{name}.add_({x})"]  # fmt: skip
    body.add(chance.pick(forms), "filled")
    if body.depth:
        body.flows_on(f"{x} + {name}", "filled-used")
    else:
        body.x = name


def use_attribute(body: Body) -> None:
    x, chance = body.x, body.chance
    attribute = chance.dice.choice(list(body.attributes))
    name = f"self.{attribute.name}"
    forms = {
        "vector": [f"{x} * {name}", f"{x} + {name}", f"{name} + {x}", f"{x} - {name}.mean()",
                   f"torch.addcmul({x}, {x}, {name}.expand_as({x}))"],
        "mask": [f"{x}.masked_fill({name}, 0.0)", f"torch.where({name}, {x}, -{x})"],
        "index": [f"{x}[:, {name}]", f"{x}.index_select(1, {name})"],
        "matrix": [f"{x} @ {name}", f"F.linear({x}, {name})", f"{x} + {name}[{x}.argmax(1)]"],
        "module": [f"{name}({x})", f"{x} + {name}({x})", f"torch.relu({name}({x}))"],
        "embedding": [f"{x} + {name}({x}.argmax(dim=1))"],
        "dict": [f"{name}['a']({x})"],
    }  # fmt: skip
    if attribute.sort == "embedding" and chance.one_in(2):
        place = chance.beside(x, body.devices)
        move = place.move if place.move != f".to({x})" else f".to({x}.device)"
        made = f"torch.arange({x}.size(0){place.keyword}){move} % {WIDTH}"
        body.flows_on(f"{x} + {name}({made})", f"positions-{place.name}")
    elif attribute.sort == "modules":
        part = body.new("module")
        with body.rows.under(f"for {part} in {name}:", "parts"):
            body.add(f"{x} = {part}({x})", "parts")
    elif attribute.sort == "moving":
        body.add(f"{name} = 0.9 * {name} + 0.1 * {x}.detach().mean(0)", "attribute-moving")
        body.flows_on(f"{x} - {name}", "attribute-moving")
    elif attribute.sort == "recurrent":
        made, production = _made(body, "full")
        made = made.replace(f"({WIDTH}", f"({x}.size(0), {WIDTH}", 1)
        hidden = body.new()
        body.add(f"{hidden} = {made}", f"hidden-{production}")
        body.flows_on(f"{name}({x}, {hidden}.expand({x}.size(0), -1))", "recurrent")
    elif attribute.sort == "lazy":
        made, production = _made(body, "vector")
        with body.rows.under(f"if {name} is None:", "lazy"):
            body.add(f"{name} = {made}", f"lazy-{production}")
        body.flows_on(f"{x} + {name}", "lazy-used")
    else:
        body.flows_on(chance.pick(forms[attribute.sort]), f"attribute-{attribute.sort}")


def call_helper(body: Body) -> None:
    if body.call is not None:
        body.flows_on(body.call(body), "helper-called")


def branch(body: Body) -> None:
    x, chance = body.x, body.chance
    tests = [f"{x}.size(0) > 1", f"{x}.is_cuda", f"{x}.dim() == 2", f"{x}.requires_grad"]
    tests += [f"{x}.device.type == 'cuda'", "torch.cuda.is_available()", f"not {x}.is_cuda"]
    tests += [f"{x}.sum() > 0", f"{x}.numel()"]
    with body.rows.under(f"if {chance.pick(tests)}:", "branch"):
        write_body(body.block(), chance.dice.randint(1, 2))
    if chance.one_in(2):
        with body.rows.under("else:", "branch"):
            write_body(body.block(), 1)


def loop(body: Body) -> None:
    chance = body.chance
    with body.rows.under(f"for {body.new('other')} in range(2):", "loop"):
        write_body(body.block(), chance.dice.randint(1, 2))


def accumulate(body: Body) -> None:
    x, chance = body.x, body.chance
    name, each = body.new("other"), body.new("other")
    if chance.one_in(2):
        body.add(f"{name} = []", "list")
        with body.rows.under(f"for {each} in range(2):", "list"):
            write_body(body.block(), 1)
            body.add(f"{name}.append({x})", "list")
        if chance.one_in(2):
            made, production = _made(body)
            body.add(f"{name}.append({made}.expand_as({x}))", f"list-{production}")
        body.flows_on(f"torch.stack({name}).mean(0)", "list-joined")
        return
    made, production = _made(body, "full")
    made = made.replace(f"({WIDTH}", f"({x}.size(0), {WIDTH}", 1)
    start, how = chance.dice.choice([("0", "number"), ("0.0", "number"), (made, production)])
    body.add(f"{name} = {start}", f"sum-{how}")
    with body.rows.under(f"for {each} in range(3):", "sum"):
        form = chance.pick([f"{name} = {name} + {x}", f"{name} += {x} * {each}"])
        body.add(form, "sum-added")
    body.flows_on(f"{name} / 3", "sum-used")


def side(body: Body) -> None:
    """A tensor is made in a block of its own."""
    x, chance, name = body.x, body.chance, body.new()
    made, production = _made(body)
    header = chance.pick(["with torch.no_grad():", "try:", "if True:"])
    with body.rows.under(header, "block"):
        body.add(f"{name} = {made}", production)
    if header == "try:":
        with body.rows.under("except ValueError:", "block"):
            body.add(f"{name} = torch.zeros_like({x})", "block")
    body.flows_on(f"{x} + {name}", "block-used")


def repeat(body: Body) -> None:
    count = body.new("other")
    body.add(f"{count} = 0", "while")
    with body.rows.under(f"while {count} < 2:", "while"):
        write_body(body.block(), 1)
        body.add(f"{count} += 1", "while")


def chosen(body: Body) -> None:
    """One of two tensors, by a flag or by what is known."""
    x, chance, name = body.x, body.chance, body.new()
    first, production = _made(body)
    test = chance.pick([f"{x}.size(0) > 1", f"{x}.is_cuda", "torch.cuda.is_available()"])
    second = chance.pick([f"torch.zeros_like({x})", "0.0", f"{x}.new_ones({WIDTH})"])
    body.add(f"{name} = {first} if {test} else {second}", f"chosen-{production}")
    body.flows_on(f"{x} + {name}", "chosen-used")


def closure(body: Body) -> None:
    chance = body.chance
    name, given = body.new("function"), body.new()
    if chance.one_in(2):
        made, production = _made(body, "vector")
        held = body.new()
        body.add(f"{held} = {made}", production)
        body.add(f"{name} = lambda {given}: {given} * {held}", "lambda")
    else:
        with body.rows.under(f"def {name}({given}):", "closure"):
            inner = replace(body, x=given, depth=0, attributes=(), devices=(), call=None)
            write_body(inner, chance.dice.randint(1, 2))
            body.add(f"return {inner.x}", "closure")
    body.flows_on(f"{name}({body.x})", "closure-called")


def collection(body: Body) -> None:
    x, name = body.x, body.new("other")
    made, production = _made(body)
    chance = body.chance
    if chance.one_in(2):
        body.add(f"{name} = {{'a': {x}, 'b': {made}}}", f"dict-{production}")
        if chance.one_in(3):
            body.add(f"{name} = {{k: v.to({x}.device) for k, v in {name}.items()}}", "dict-moved")
        body.flows_on(f"{name}['a'] * {name}['b']", "dict-used")
    else:
        body.add(f"{name} = ({x}, {made})", f"tuple-{production}")
        first, second = body.new(), body.new()
        body.add(f"{first}, {second} = {name}", "tuple-unpacked")
        body.flows_on(f"{first} + {second}", "tuple-used")


def generator(body: Body) -> None:
    x, name, chance = body.x, body.new("other"), body.chance
    place = f"device={x}.device" if chance.is_right() else chance.pick(["", "'cpu'", "'cuda'"])
    body.add(f"{name} = torch.Generator({place})", "generator")
    key = f", device={x}.device" if chance.is_right() else ""
    body.flows_on(f"{x} + torch.randn({x}.shape, generator={name}{key})", "generator-used")


SIMPLE: list[Production] = [
    *[activation] * 4, *[meet_made] * 5, meet_scalar, mask, mask, index, index, table, to_host,
    there_and_back, fill, collection, generator, chosen,
]  # fmt: skip
NESTED: list[Production] = [
    branch, branch, loop, accumulate, accumulate, closure, side, repeat, asking,
]  # fmt: skip

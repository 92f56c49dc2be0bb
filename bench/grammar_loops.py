"""The loops of generated programs: batches are moved, a model is called and trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from grammar import WIDTH, Rows
from grammar_bodies import Body, write_body
from grammar_modules import Scope


@dataclass
class Training:
    """The names of a loop."""

    model: str
    loader: str
    device: str
    optimizer: str
    is_classes: bool
    batch: str = "tuple"
    before: list[tuple[str, str]] = field(default_factory=list)
    within: list[tuple[str, str]] = field(default_factory=list)
    after: list[tuple[str, str]] = field(default_factory=list)


class Loops:
    """Writes the loops of a program."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.chance = scope, scope.chance
        self._moves = ""

    def new(self, sort: str) -> str:
        return self.chance.names.new(sort)

    def _moved(self, rows: Rows, x: str, y: str, device: str, batch: str) -> None:
        """The header of a loop has bound a batch to `batch` or to x and y; now x and y are."""
        chance = self.chance
        if batch:
            if chance.one_in(2) and chance.is_right():
                row = f"{batch} = {{k: v.to({device}) for k, v in {batch}.items()}}"
                rows.add(row, "batch-moved")
                rows.add(f"{x}, {y} = {batch}['x'], {batch}['y']", "batch-taken")
                return
            ways = [f".to({device})"] if chance.is_right() else ["", ".cuda()"]
            move = chance.pick(ways)
            second = move if chance.is_right() else ""
            rows.add(f"{x} = {batch}['x']{move}", "batch-taken")
            rows.add(f"{y} = {batch}['y']{second}", "batch-taken")
            return
        way = chance.dice.randrange(4)
        if not chance.is_right():
            wrong = [
                f"{x} = {x}.to({device})",
                f"{y} = {y}.to({device})",
                f"{x}, {y} = {x}.cuda(), {y}.cuda()",
                f"{x}.to({device})",
            ]
            rows.add(chance.pick(wrong), "pair-wrong")
        elif way == 0:
            rows.add(f"{x}, {y} = {x}.to({device}), {y}.to({device})", "pair-moved")
        elif way == 1:
            rows.add(f"{x} = {x}.to({device}, non_blocking=True)", "pair-moved")
            rows.add(f"{y} = {y}.to({device})", "pair-moved")
        elif way == 3:
            rows.add(f"{x}, {y} = {self._mover()}(({x}, {y}), {device})", "pair-moved-by-function")
        else:
            rows.add(f"{x}, {y} = [t.to({device}) for t in ({x}, {y})]", "pair-moved-by-list")

    def _mover(self) -> str:
        """A function that moves whatever it is given."""
        if not self._moves:
            name, value, device = self.new("function"), self.new("tensor"), self.new("device")
            rows = Rows()
            with rows.under(f"def {name}({value}, {device}):", "mover"):
                kinds = "(list, tuple)" if self.chance.one_in(2) else "tuple"
                with rows.under(f"if isinstance({value}, {kinds}):", "mover"):
                    rows.add(f"return tuple({name}(v, {device}) for v in {value})", "mover")
                move = f"{value}.to({device})" if self.chance.is_right() else value
                rows.add(f"return {move}", "mover")
            self.scope.main.definitions += [*rows.rows, ("", "")]
            self._moves = name
        return self._moves

    def _head(self, training: Training) -> tuple[str, str, str, str]:
        """The header of a loop, the name of its batch if it has one, and of its parts."""
        x, y = self.new("tensor"), self.new("tensor")
        if training.batch == "dict":
            batch = self.new("other")
            return f"for {batch} in {training.loader}:", batch, x, y
        return f"for {x}, {y} in {training.loader}:", "", x, y

    def train(self, rows: Rows, training: Training) -> None:
        chance, device = self.chance, training.device
        loss, out = self.new("other"), self.new("tensor")
        header, batch, x, y = self._head(training)
        make_loss = self._criterion(training, loss)
        for _ in range(chance.dice.randint(0, 2)):
            chance.dice.choice(_EXTRAS)(self, training, out, y, loss)
        for row, production in training.before:
            rows.add(row, production)
        with rows.under(header, "loop"):
            self._moved(rows, x, y, device, batch)
            rows.add(f"{out} = {training.model}({x})", "model-called")
            if chance.one_in(2):
                body = Body(chance, rows, out, [device], (), self.scope.caller(self.scope.main), 1)
                write_body(body, chance.dice.randint(1, 2))
            rows.add(make_loss(out, y), "loss")
            rows.add(f"{training.optimizer}.zero_grad()", "step")
            rows.add(f"{loss}.backward()", "step")
            rows.add(f"{training.optimizer}.step()", "step")
            for row, production in training.within:
                rows.add(row, production)
        for row, production in training.after:
            rows.add(row, production)

    def _criterion(self, training: Training, loss: str) -> Callable[[str, str], str]:
        """What makes the row of the loss."""
        chance, weight, name = self.chance, self.new("tensor"), self.new("other")
        right = chance.is_right()
        key = f", device={training.device}" if right else ""
        made = f"torch.ones({WIDTH}{key})"
        if right and chance.one_in(3):
            made = f"torch.ones({WIDTH}).to({training.device})"
        if training.is_classes:
            forms = [
                "nn.CrossEntropyLoss()",
                f"nn.CrossEntropyLoss(weight={made})",
                f"nn.CrossEntropyLoss(weight=torch.ones({WIDTH})).to({training.device})",
                f"F.cross_entropy(O, Y, weight={weight})",
                "F.cross_entropy(O, Y)",
            ]
        else:
            forms = ["nn.MSELoss()", f"nn.BCEWithLogitsLoss(pos_weight={made})",
                     f"(({weight} * (O - Y)) ** 2).mean()", "F.mse_loss(O, Y)",
                     f"nn.BCEWithLogitsLoss(weight={made}).to({training.device})",
                     "(O - Y).abs().mean()"]  # fmt: skip
        if chance.one_in(5):
            called = self._own_loss(training.is_classes)
            forms = [f"{called}().to({training.device})" if right else f"{called}()"]
        form = chance.pick(forms)
        if weight in form:
            training.before.append((f"{weight} = {made}", "weight" if right else "weight-host"))
        if "O" not in form or "(O" not in form:
            training.before.append((f"{name} = {form}", "criterion"))
            form = f"{name}(O, Y)"
        return lambda out, y: f"{loss} = {form.replace('O', out).replace('Y', y)}"

    def _own_loss(self, is_classes: bool) -> str:
        """A class of losses with a weight of its own."""
        chance, name, rows = self.chance, self.new("class"), Rows()
        weight = self.new("attribute")
        with rows.under(f"class {name}(nn.Module):", "loss-class"):
            with rows.under("def __init__(self):", "loss-class"):
                rows.add("super().__init__()", "loss-class")
                made = f"torch.ones({WIDTH})"
                form = f'self.register_buffer("{weight}", {made})'
                if not chance.is_right():
                    form = f"self.{weight} = {made}"
                rows.add(form, "loss-weight")
            rows.add("", "")
            with rows.under("def forward(self, out, target):", "loss-class"):
                if is_classes:
                    rows.add(f"return F.cross_entropy(out * self.{weight}, target)", "loss-class")
                else:
                    rows.add(f"return (self.{weight} * (out - target)).pow(2).mean()",
                             "loss-class")  # fmt: skip
        self.scope.main.definitions += [*rows.rows, ("", "")]
        return name

    def evaluate(self, rows: Rows, training: Training) -> None:
        chance = self.chance
        header, batch, x, y = self._head(training)
        out, got = self.new("tensor"), self.new("other")
        rows.add(f"{training.model}.eval()", "evaluation")
        rows.add(f"{got} = []", "evaluation")
        gradless = rows.under("with torch.no_grad():", "evaluation")
        with gradless, rows.under(header, "evaluation"):
            self._moved(rows, x, y, training.device, batch)
            rows.add(f"{out} = {training.model}({x})", "evaluation-called")
            forms = [f"{got}.append({out}.cpu())", f"{got}.append({out})",
                     f"{got}.append(({out} - {x}).abs().mean().item())",
                     f"{got}.append({out}.cpu().numpy())"]  # fmt: skip
            form = chance.dice.randrange(4)
            rows.add(forms[form], "evaluation-kept")
        ends = [f"print(torch.cat({got}).numpy().shape)", f"print(torch.cat({got}).mean().item())",
                f"print(sum({got}))", f"print(np.concatenate({got}).mean())"]  # fmt: skip
        if form == 1 and not chance.is_right():
            ends[1] = f"print(torch.cat({got}).numpy().mean())"
        rows.add(ends[form], "evaluation-shown")


def _total(writer: Loops, training: Training, out: str, y: str, loss: str) -> None:
    chance, name, device = writer.chance, writer.new("other"), training.device
    place = f", device={device}" if chance.is_right() else ""
    start, add = chance.dice.choice(
        [
            ("0.0", f"{loss}.item()"),
            ("0", f"{loss}.detach()"),
            (f"torch.zeros(1{place})", f"{loss}.detach()"),
            (f"torch.tensor(0.0{place})", f"{loss}.detach()"),
            (f"torch.zeros({WIDTH}{place})", f"{out}.detach().sum(0)"),
            ("torch.zeros(1)", f"{loss}.detach().cpu()"),
        ]
    )
    training.before.append((f"{name} = {start}", "total-host" if not place else "total"))
    form = chance.pick([f"{name} += {add}", f"{name} = {name} + {add}"])
    training.within.append((form, "total-added"))
    shown = chance.pick([f"print({name})", f"print(float(np.mean([0])) + len(str({name})))"])
    training.after.append((shown, "total-shown"))


def _kept(writer: Loops, training: Training, out: str, y: str, loss: str) -> None:
    chance, name = writer.chance, writer.new("other")
    right = chance.is_right()
    training.before.append((f"{name} = []", "kept"))
    keep, end = chance.dice.choice(
        [
            (f"{out}.detach().cpu()", f"torch.cat({name}).numpy()"),
            (f"{out}.detach()", f"torch.cat({name}).cpu().numpy()"),
            (f"{loss}.item()", f"np.mean({name})"),
            (f"{out}.detach().cpu().numpy()", f"np.concatenate({name})"),
        ]
        if right
        else [
            (f"{out}.detach()", f"torch.cat({name}).numpy()"),
            (f"{loss}.detach()", f"np.mean({name})"),
            (f"{out}.detach().numpy()", f"np.concatenate({name})"),
        ]
    )
    training.within.append((f"{name}.append({keep})", "kept-added"))
    training.after.append((f"print({end})", "kept-right" if right else "kept-wrong"))


def _counted(writer: Loops, training: Training, out: str, y: str, loss: str) -> None:
    chance, name = writer.chance, writer.new("other")
    right = chance.is_right()
    place = f", device={training.device}" if right else ""
    training.before.append((f"{name} = torch.zeros({WIDTH}{place})", "count" if right else
                            "count-host"))  # fmt: skip
    forms = [
        f"{name}[{out}.argmax(dim=1)] += 1",
        f"{name}.index_add_(0, {out}.argmax(dim=1), torch.ones_like({out}[:, 0]))",
        f"{name} += F.one_hot({out}.argmax(dim=1), {WIDTH}).sum(0)",
        f"{name}[0] += ({out}.argmax(dim=1) == 1).sum()",
        f"{name}[int({out}.argmax(dim=1)[0])] += 1",
    ]
    training.within.append((chance.pick(forms), "count-added"))


def _averaged(writer: Loops, training: Training, out: str, y: str, loss: str) -> None:
    chance, name, k, p = (
        writer.chance, writer.new("other"), writer.new("other"), writer.new("tensor")
    )  # fmt: skip
    host = "" if chance.is_right() else ".cpu()"
    made = (
        f"{{{k}: {p}.detach().clone(){host} for {k}, {p} in {training.model}.named_parameters()}}"
    )
    training.before.append((f"{name} = {made}", "average" if not host else "average-host"))
    training.within.append((f"for {k}, {p} in {training.model}.named_parameters():", "average"))
    form = chance.pick(
        [f"{name}[{k}] = 0.9 * {name}[{k}] + 0.1 * {p}.detach()",
         f"{name}[{k}].mul_(0.9).add_({p}.detach(), alpha=0.1)"]
    )  # fmt: skip
    training.within.append((f"    {form}", "average-added"))


def _right_guesses(writer: Loops, training: Training, out: str, y: str, loss: str) -> None:
    name = writer.new("other")
    training.before.append((f"{name} = 0", "correct"))
    equal = f"{out}.argmax(1) == {y}" if training.is_classes else f"({out} > 0) == ({y} > 0)"
    training.within.append((f"{name} += ({equal}).float().mean().item()", "correct-added"))


def _saved(writer: Loops, training: Training, out: str, y: str, loss: str) -> None:
    name, model = writer.new("other"), training.model
    way = writer.chance.pick(
        [f"copy.deepcopy({model}.state_dict())",
         f"{{k: v.cpu() for k, v in {model}.state_dict().items()}}",
         f"{{k: v.clone() for k, v in {model}.state_dict().items()}}"]
    )  # fmt: skip
    training.within.append((f"{name} = {way}", "saved"))
    training.after.append((f"{model}.load_state_dict({name})", "loaded"))


def _penalty(writer: Loops, training: Training, out: str, y: str, loss: str) -> None:
    chance, name, p = writer.chance, writer.new("other"), writer.new("tensor")
    device = training.device
    place = f", device={device}" if chance.is_right() else ""
    start = chance.pick(["0.0", f"torch.tensor(0.0{place})", f"torch.zeros(1{place})"])
    training.within.append((f"{name} = {start}", "penalty"))
    training.within.append((f"for {p} in {training.model}.parameters():", "penalty"))
    training.within.append((f"    {name} = {name} + {p}.detach().norm()", "penalty-added"))
    training.within.append((f"print(float({name} + {loss}.detach()))", "penalty-used"))


_EXTRAS = [_penalty, _total, _total, _kept, _kept, _counted, _averaged, _right_guesses, _saved]

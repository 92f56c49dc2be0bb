"""Whole programs: a device, data, a model, a loop that trains it, and what is read at the end."""

from __future__ import annotations

import random

from grammar import MAIN, WIDTH, Chance, Names, Program, Rows
from grammar_loops import Loops, Training
from grammar_modules import File, ModuleClass, Scope, make_class


def generated(seed: int, number: int) -> Program:
    """The program of a number."""
    dice = random.Random(f"{seed} {number}")
    names = Names(dice)
    chance = Chance(dice, names, dice.choice((1.0, 1.0, 0.97, 0.9, 0.75)))
    scope = Scope(chance, File(MAIN))
    for _ in range(dice.choice((0, 0, 1, 2))):
        scope.others.append(File(f"{names.new('file')}.py"))
    _Writer(scope).write()
    return scope.program()


class _Writer:
    """Writes the main file."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.chance, self.loops = scope, scope.chance, Loops(scope)
        self.device = self.new("device")

    def new(self, sort: str) -> str:
        return self.chance.names.new(sort)

    def define(self, rows: Rows) -> None:
        self.scope.main.definitions += [*rows.rows, ("", "")]

    def write(self) -> None:
        chance, rows = self.chance, self.scope.main.main
        style = chance.pick(["top", "main", "function", "class"])
        is_classes, batch = chance.one_in(2), chance.pick(["tuple", "tuple", "dict"])
        made = make_class(self.scope, self.scope.some_file())
        if style == "main":
            name = self.new("function")
            with rows.under(f"def {name}():", "main"):
                self._all(rows, made, is_classes, batch, style)
            rows.add("", "")
            with rows.under("if __name__ == '__main__':", "main"):
                rows.add(f"{name}()", "main")
        else:
            self._all(rows, made, is_classes, batch, style)

    def _all(self, rows: Rows, made: ModuleClass, is_classes: bool, batch: str, style: str) -> None:
        self._device(rows)
        loader = self.new("loader")
        self._data(rows, loader, is_classes, batch)
        model, optimizer = self.new("model"), self.new("other")
        called = self.scope.named(made.file, made.name, self.scope.main)
        given = self._own_device() if made.takes_device else ""
        made_by = f"{called}({given})"
        training = Training(model, loader, self.device, optimizer, is_classes, batch)
        if style == "class":
            self._trainer(rows, training, made_by)
            return
        self._model(rows, training, made_by)
        if style == "function":
            name = self.new("function")
            model_name, loader_name = self.new("model"), self.new("loader")
            device_name, other = self.new("device"), self.new("other")
            inner = Training(model_name, loader_name, device_name, other, is_classes, batch)
            function = Rows()
            names = f"{inner.model}, {inner.loader}, {inner.optimizer}, {inner.device}"
            with function.under(f"def {name}({names}):", "training"):
                self.loops.train(function, inner)
            self.define(function)
            rows.add(f"{name}({model}, {loader}, {optimizer}, {self._own_device()})", "training")
        else:
            self.loops.train(rows, training)
        if self.chance.one_in(2):
            self.loops.evaluate(rows, training)

    def _own_device(self) -> str:
        if self.chance.is_right():
            return self.device
        return self.chance.pick(["'cpu'", "'cuda'", "torch.device('cpu')"])

    def _device(self, rows: Rows) -> None:
        chance, device = self.chance, self.device
        if chance.one_in(12):
            host = chance.pick(["torch.device('cpu')", "'cpu'"])
            rows.add(f"{device} = {host}", "device-host")
            return
        way = chance.dice.randrange(8)
        chosen = "'cuda' if torch.cuda.is_available() else 'cpu'"
        if way < 2:
            rows.add(f"{device} = torch.device({chosen})", "device-chosen")
        elif way == 2:
            rows.add(f"{device} = {chosen}", "device-chosen")
        elif way == 3:
            name = chance.pick(["'cuda'", "'cuda:0'", "torch.device('cuda')", "torch.device(0)"])
            rows.add(f"{device} = {name}", "device-named")
        elif way == 4:
            rows.add(f"{device} = torch.device('cpu')", "device-statement")
            with rows.under("if torch.cuda.is_available():", "device-statement"):
                rows.add(f"{device} = torch.device('cuda')", "device-statement")
        elif way == 5:
            name, function = self.new("function"), Rows()
            with function.under(f"def {name}():", "device-function"):
                with function.under("if torch.cuda.is_available():", "device-function"):
                    function.add("return torch.device('cuda')", "device-function")
                function.add("return torch.device('cpu')", "device-function")
            self.define(function)
            rows.add(f"{device} = {name}()", "device-function")
        elif way == 6:
            name = self.new("other")
            rows.add(f"{name} = argparse.ArgumentParser()", "device-argument")
            rows.add(f"{name}.add_argument('--device', default='cuda')", "device-argument")
            rows.add(f"{device} = {name}.parse_args([]).device", "device-argument")
        else:
            name, cls = self.new("class"), Rows()
            cls.add("@dataclass", "device-config")
            with cls.under(f"class {name}:", "device-config"):
                cls.add("width: int = 4", "device-config")
                cls.add("device: str = 'cuda'", "device-config")
            self.define(cls)
            rows.add(f"{device} = {name}().device", "device-config")

    # --- data

    def _data(self, rows: Rows, loader: str, is_classes: bool, batch: str) -> None:
        chance = self.chance
        many = f"torch.randint(0, {WIDTH}, (6,))" if is_classes else f"torch.randn(6, {WIDTH})"
        few = f"torch.randint(0, {WIDTH}, (2,))" if is_classes else f"torch.randn(2, {WIDTH})"
        one = f"torch.tensor({{}} % {WIDTH})" if is_classes else f"torch.ones({WIDTH})"
        pair = "{{'x': {}, 'y': {}}}" if batch == "dict" else "({}, {})"
        way = chance.dice.randrange(4)
        if way == 0 and batch == "tuple":
            data = self.new("other")
            rows.add(f"{data} = TensorDataset(torch.randn(6, {WIDTH}), {many})", "data-tensors")
            more = chance.pick(["", ", shuffle=True", ", drop_last=True"])
            rows.add(f"{loader} = DataLoader({data}, batch_size=2{more})", "data-loader")
        elif way == 1:
            each = self.new("other")
            made = pair.format(f"torch.randn(2, {WIDTH})", few)
            rows.add(f"{loader} = [{made} for {each} in range(2)]", "data-list")
        elif way == 2:
            name, number, function = self.new("function"), self.new("other"), Rows()
            head = function.under(f"def {name}():", "data-generator")
            with head, function.under(f"for {number} in range(2):", "data-generator"):
                made = pair.format(f"torch.randn(2, {WIDTH})", few)
                function.add(f"yield {made}", "data-generator")
            self.define(function)
            rows.add(f"{loader} = list({name}())", "data-generator")
        else:
            name, number, cls = self.new("class"), self.new("other"), Rows()
            with cls.under(f"class {name}(Dataset):", "data-class"):
                with cls.under("def __len__(self):", "data-class"):
                    cls.add("return 4", "data-class")
                cls.add("", "")
                with cls.under(f"def __getitem__(self, {number}):", "data-class"):
                    made = pair.format(f"torch.randn({WIDTH})", one.format(number))
                    cls.add(f"return {made}", "data-class")
            self.define(cls)
            more = ""
            if batch == "tuple" and chance.one_in(4):
                collate, items, function = self.new("function"), self.new("other"), Rows()
                with function.under(f"def {collate}({items}):", "collate"):
                    first = f"torch.stack([x for x, _ in {items}])"
                    function.add(f"return {first}, torch.stack([y for _, y in {items}])",
                                 "collate")  # fmt: skip
                self.define(function)
                more = f", collate_fn={collate}"
            rows.add(f"{loader} = DataLoader({name}(), batch_size=2{more})", "data-loader")

    # --- the model

    def _model(self, rows: Rows, training: Training, made_by: str) -> None:
        chance, model, device = self.chance, training.model, training.device
        optimizer = chance.pick(["SGD({}, lr=0.01)", "Adam({}, lr=0.01)"])
        made = f"torch.optim.{optimizer.format(f'{model}.parameters()')}"
        if chance.one_in(5):
            made_by = f"nn.Sequential({made_by}, nn.Linear({WIDTH}, {WIDTH}))"
        if chance.one_in(6):
            self._built(rows, training, made_by, made)
            return
        if not chance.is_right():
            wrong = chance.pick(["", ".cuda()", ".cpu()", ".to('cpu')"])
            rows.add(f"{model} = {made_by}{wrong}", "model-wrong")
            rows.add(f"{training.optimizer} = {made}", "optimizer")
            return
        way = chance.dice.randrange(4)
        if way == 0:
            rows.add(f"{model} = {made_by}.to({device})", "model-moved")
            rows.add(f"{training.optimizer} = {made}", "optimizer")
        elif way == 3:
            rows.add(f"{model} = {made_by}", "model-made")
            rows.add(f"{training.optimizer} = {made}", "optimizer")
            rows.add(f"{model}.to({device})", "model-moved-late")
        else:
            rows.add(f"{model} = {made_by}", "model-made")
            target = f"{model} = " if way == 1 else ""
            rows.add(f"{target}{model}.to({device})", "model-moved")
            rows.add(f"{training.optimizer} = {made}", "optimizer")

    def _built(self, rows: Rows, training: Training, made_by: str, optimizer: str) -> None:
        """A model that a function makes or moves, or that is made within a device."""
        chance, model, device = self.chance, training.model, training.device
        way = chance.dice.randrange(3)
        if way == 0:
            with rows.under(f"with torch.device({device}):", "device-block"):
                rows.add(f"{model} = {made_by}", "model-in-block")
        else:
            name, given, where = self.new("function"), self.new("model"), self.new("device")
            function = Rows()
            with function.under(f"def {name}({given}, {where}):", "model-function"):
                move = f"{given}.to({where})" if chance.is_right() else given
                if chance.one_in(2):
                    function.add(f"return {move}", "model-function")
                else:
                    function.add(f"{given} = {move}", "model-function")
                    function.add(f"return {given}, {where}", "model-function")
            pair = "return " + given + ", " in function.rows[-1][0]
            self.define(function)
            called = f"{name}({made_by}, {device})"
            target = f"{model}, {self.new('other')}" if pair else model
            rows.add(f"{target} = {called}", "model-from-function")
        rows.add(f"{training.optimizer} = {optimizer}", "optimizer")

    def _trainer(self, rows: Rows, training: Training, made_by: str) -> None:
        """A class that trains."""
        name, method, cls = self.new("class"), self.new("function"), Rows()
        own = Training(
            "self.model", "self.loader", "self.device", "self.optimizer",
            training.is_classes, training.batch,
        )  # fmt: skip
        with cls.under(f"class {name}:", "trainer"):
            with cls.under("def __init__(self, model, loader, device):", "trainer"):
                cls.add("self.device = device", "trainer")
                cls.add("self.loader = loader", "trainer")
                self._model(cls, own, "model")
            cls.add("", "")
            with cls.under(f"def {method}(self):", "trainer"):
                self.loops.train(cls, own)
        self.define(cls)
        trainer = self.new("object")
        given = f"{made_by}, {training.loader}, {self._own_device()}"
        rows.add(f"{trainer} = {name}({given})", "trainer")
        rows.add(f"{trainer}.{method}()", "trainer")

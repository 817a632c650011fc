"""The gallery's cells.

Which kernel is replaced, by what fault, and which cases of which canary have to see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """One replaced kernel in front of one canary.

    `red` are the cases that must fail, `may` further ones that may (a kernel serves several); every
    other case has to pass or be skipped. `says` are words that stand in the reason of each case in
    `red`. A healthy twin has no `red`. `on_cuda` takes the place of `red` on a GPU.
    """

    script: str
    install: tuple[str, dict[str, Any]]
    red: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    says: tuple[str, ...] = ()
    settings: Mapping[str, str] = MappingProxyType({})
    on_cuda: frozenset[str] = frozenset()

    @property
    def red_on_cuda(self) -> frozenset[str]:
        """The cases that must fail where the kernel of a GPU is replaced."""
        return self.on_cuda or self.red

    @property
    def name(self) -> str:
        """What a test run calls it."""
        function, arguments = self.install
        said = [_named(key, value) for key, value in arguments.items()] + ["deep"] * (
            "CANARY_TIER" in self.settings
        )
        return f"{self.script.replace('_', '-')}: {function} {', '.join(said) or 'healthy'}"


def _named(key: str, value: Any) -> str:
    if isinstance(value, list):
        return " and ".join(value) if len(value) < 4 else f"all {len(value)}"
    return value if isinstance(value, str) else f"{key.replace('_', ' ')} {value}"


def cells() -> Iterator[Cell]:
    """Yield the whole grid."""
    yield from _products()
    yield from _layouts()
    yield from _destinations()
    yield from _attention()
    yield from _elementwise()
    yield from _dtypes()
    yield from _large()
    yield from _exchange()


_MATMUL = "noncontiguous_matmul"
_ATTENTION = "noncontiguous_attention"
_OPS = "noncontiguous_ops"
_LARGE = "large_matmul"
_CROSS = "cross_device_add"

_LAYOUTS = frozenset(
    {"transposed", "strided", "offset", "expanded", "permuted-batch", "size-one-dims"}
)
_STEPPED = frozenset({"transposed", "strided", "offset", "permuted-batch"})
_UNSTEPPED = _LAYOUTS - _STEPPED
"""Layouts whose strides are of little matter: who ignores them may be right."""

_BMM = r"^(matmul|bmm|einsum|linear|copy_|gradient of (matmul|linear|baddbmm))"
_MM = r"^(mm|linear|gradient of linear)"
_DEEP = {"CANARY_TIER": "deep"}


def _products() -> Iterator[Cell]:
    """Yield every way to multiply with every fault of reading."""
    every = [
        "mm",
        "bmm",
        "mm.out",
        "bmm.out",
        "addmm",
        "baddbmm",
        "addmm_",
        "baddbmm_",
        "mv",
        "dot",
    ]
    yield Cell(_MATMUL, ("products", {"ops": every}))
    heads = _LAYOUTS | {"permuted-heads", "into-view", "backward"}
    table: list[tuple[str, str, frozenset[str], frozenset[str], str]] = [
        ("mm", "strides ignored", _STEPPED | {"backward"}, _UNSTEPPED, _MM),
        ("mm", "offset ignored", frozenset({"offset", "backward"}), frozenset(), _MM),
        ("mm", "operand ignored", _LAYOUTS | {"backward"}, frozenset(), _MM),
        ("mm", "last tile dropped", _LAYOUTS | {"backward"}, frozenset(), _MM),
        ("bmm", "strides ignored", _STEPPED | {"into-view", "backward"}, _UNSTEPPED, _BMM),
        ("bmm", "offset ignored", frozenset({"offset", "backward"}), frozenset(), _BMM),
        ("bmm", "operand ignored", heads, frozenset(), _BMM),
        ("bmm", "last tile dropped", heads - {"permuted-heads"}, frozenset(), _BMM),
        ("bmm", "last row dropped", heads, frozenset(), _BMM),
        (
            "bmm.out",
            "strides ignored",
            _STEPPED | {"into-view"},
            frozenset(),
            r"^(matmul|bmm) into",
        ),
        (
            "mm.out",
            "last tile dropped",
            frozenset({"into-view"}),
            frozenset(),
            r"^mm into a \w+ view",
        ),
        (
            "addmm",
            "last tile dropped",
            frozenset({"bias"}),
            frozenset(),
            r"^addmm, transposed bias",
        ),
        ("addmm", "bias ignored", frozenset({"bias"}), frozenset(), r"^addmm, transposed bias"),
        (
            "baddbmm",
            "strides ignored",
            frozenset({"bias"}),
            frozenset(),
            r"^baddbmm, transposed bias",
        ),
        ("baddbmm", "offset ignored", frozenset({"bias"}), frozenset(), r"^baddbmm, offset bias"),
        ("mv", "strides ignored", _LAYOUTS, frozenset(), r"^mv, "),
        ("dot", "strides ignored", _LAYOUTS, frozenset(), r"^dot, "),
    ]
    shapes = [
        ("mv", "last row missing", r"^mv, .+: the result has shape \(8,\), expected \(9,\)"),
        ("mv", "other dtype", r"^mv, .+, float32: the result is float64, expected float32"),
        ("mv", "unsteady", r"^mv, .+: two runs on the same operands differ in \d+ of \d+ elements"),
        ("dot", "other dtype", r"^dot, .+, float32: the result is float64, expected float32"),
    ]
    for op, kind, said in shapes:
        yield Cell(_MATMUL, ("products", {"ops": [op], "kind": kind}), _LAYOUTS, says=(said,))
    for op, kind, red, may, says in table:
        yield Cell(
            _MATMUL,
            ("products", {"ops": [op], "kind": kind}),
            red,
            may,
            (says, r"float32: largest error .+, allowed .+; \d+ of"),
        )


def _layouts() -> Iterator[Cell]:
    """Yield faults that show with one layout, with one dtype, or in the gradients alone."""
    for layout in sorted(_LAYOUTS):
        may = frozenset({"into-view"}) if layout == "transposed" else frozenset[str]()
        install = ("products", {"ops": ["bmm"], "kind": "operand ignored", "layout": layout})
        yield Cell(_MATMUL, install, frozenset({layout, "backward"}), may, (layout,))
    for dtype in "float64", "float16", "bfloat16":
        install = ("products", {"ops": ["bmm"], "kind": "strides ignored", "dtype": dtype})
        yield Cell(
            _MATMUL,
            install,
            _STEPPED | {"into-view", "backward"},
            _UNSTEPPED,
            (f", {dtype}: largest error", _BMM),
        )
    yield Cell(_MATMUL, ("wrong_gradient", {}))
    only, says = frozenset({"backward"}), ("^gradient of matmul, left, transposed operands",)
    yield Cell(_MATMUL, ("wrong_gradient", {"kind": "strides ignored"}), only, frozenset(), says)
    yield Cell(
        _MATMUL,
        ("products", {"ops": ["bmm"], "kind": "operand ignored", "backward": True}),
        only,
        frozenset(),
        says,
    )


def _destinations() -> Iterator[Cell]:
    """Yield faults of writing."""
    view, bias = frozenset({"into-view"}), frozenset({"bias"})
    table = [
        ("mm.out", "never written", view, "^mm into a transposed view"),
        (
            "mm.out",
            "written beyond",
            view,
            "^mm into a strided view, float32: 1 elements outside the view were written",
        ),
        ("bmm.out", "destination read", _LAYOUTS | view, "^(matmul|bmm) into"),
        ("bmm.out", "destination strides ignored", view, "^(matmul|bmm) into a transposed view"),
        ("addmm_", "never written", bias, "^addmm_, transposed bias"),
        ("baddbmm_", "destination strides ignored", bias, "^baddbmm_, transposed bias"),
    ]
    for op, kind, red, says in table:
        # torch itself writes a baddbmm into some views by addmm_.
        may = view if op == "addmm_" else frozenset[str]()
        yield Cell(_MATMUL, ("products", {"ops": [op], "kind": kind}), red, may, (says,))


def _attention() -> Iterator[Cell]:
    """Yield faults of fused attention, of its gradient, and of the products behind it."""
    views = frozenset({"transposed-heads", "packed", "time-first", "repeated-heads"})
    fused = views | {"causal", "masked", "odd-keys", "grouped-heads", "backward"}
    kinds: dict[str, frozenset[str]] = {
        "strides ignored": fused,
        "offset ignored": frozenset({"packed", "backward"}),
        "operand ignored": fused,
        "last tile dropped": fused,
        "future leaks": views | {"causal", "backward"},
        "mask ignored": frozenset({"masked"}),
        "mask strides ignored": frozenset({"masked"}),
        "keys invented": frozenset({"causal", "odd-keys"}),
        "wrong group": frozenset({"grouped-heads"}),
    }
    said = (r"^(gradient of (queries|keys|values)|attention)", "float32: largest error")
    yield Cell(_ATTENTION, ("attention", {}))
    for kind, red in kinds.items():
        yield Cell(_ATTENTION, ("attention", {"kind": kind}), red, frozenset(), said)
    for dtype in "float16", "bfloat16":
        install = ("attention", {"kind": "future leaks", "dtype": dtype})
        yield Cell(
            _ATTENTION,
            install,
            views | {"causal"},
            frozenset({"backward"}),
            ("is_causal", f"{dtype}: largest error"),
        )
    yield Cell(_ATTENTION, ("attention_gradient", {}))
    for kind in "strides ignored", "operand ignored", "last row dropped":
        yield Cell(
            _ATTENTION,
            ("attention_gradient", {"kind": kind}),
            frozenset({"backward"}),
            frozenset(),
            ("^gradient of",),
        )
    yield Cell(_ATTENTION, ("products", {"ops": ["bmm"]}))
    yield Cell(
        _ATTENTION,
        ("products", {"ops": ["bmm"], "kind": "strides ignored"}),
        frozenset({"strided", "backward"}),
        frozenset(),
        said,
    )
    tile = frozenset({"strided", "value-width", "backward"})
    yield Cell(
        _ATTENTION,
        ("products", {"ops": ["bmm"], "kind": "last tile dropped"}),
        tile,
        frozenset(),
        said,
    )


def _elementwise() -> Iterator[Cell]:
    """Yield faults of operations that are no products."""
    reads = {
        "optimizer-step": ["addcmul_", "addcdiv_"],
        "into-out": ["sqrt.out", "bitwise_and.Tensor_out"],
        "special-functions": ["lgamma", "digamma"],
        "sort": ["sort"],
        "join": ["cat"],
        "convolution": ["convolution"],
        "normalization": ["native_batch_norm"],
    }
    writes = {
        "optimizer-step": ["addcmul_", "addcdiv_"],
        "random-fill": ["normal_", "uniform_", "exponential_", "bernoulli_.float", "random_.from"],
        "into-out": ["sqrt.out", "bitwise_and.Tensor_out"],
    }
    every = sorted(
        {op for table in (reads, writes) for ops in table.values() for op in ops}
        | {"convolution_backward"}
    )
    yield Cell(_OPS, ("elementwise", {"ops": every}))
    for case, ops in reads.items():
        for op in ops:
            yield _elementwise_cell(case, op, "strides ignored")
    for case, ops in writes.items():
        for op in ops:
            yield _elementwise_cell(case, op, "never written")
            yield _elementwise_cell(case, op, "written beyond")
    yield _elementwise_cell("special-functions", "lgamma", "last row missing", "has shape")
    yield _elementwise_cell("special-functions", "lgamma", "other dtype", "is float64")
    yield _elementwise_cell("sort", "sort", "last row missing", "has shape")
    yield _elementwise_cell("join", "cat", "last row missing", "has shape")
    for op in writes["random-fill"]:
        strange = "cannot be drawn" if op == "bernoulli_.float" else "share of numbers"
        if op not in ("uniform_", "random_.from"):
            yield _elementwise_cell("random-fill", op, "uniform noise", strange)
        yield _elementwise_cell("random-fill", op, "rows repeated", "are there twice")
    yield _elementwise_cell("random-fill", "random_.from", "fractions", "cannot be drawn")
    yield _elementwise_cell("optimizer-step", "addcdiv_", "destination strides ignored")
    yield _elementwise_cell("convolution", "convolution_backward", "last row dropped")
    yield Cell(
        _OPS, ("elementwise", {"ops": ["digamma"], "kind": "missing"})
    )  # what a device does not have is not wrong there
    yield Cell(_OPS, ("conversions", {}))
    for kind in "offset ignored", "source overwritten":
        yield Cell(
            _OPS,
            ("conversions", {"kind": kind}),
            frozenset({"conversion"}),
            frozenset(),
            ("^copy to cpu",),
        )


def _elementwise_cell(case: str, op: str, kind: str, said: str = "") -> Cell:
    calls = {
        "native_batch_norm": "batch_norm",
        "convolution": "conv2d",
        "convolution_backward": "conv2d.*gradient",
    }
    called = calls.get(op, op.partition(".")[0])
    return Cell(
        _OPS,
        ("elementwise", {"ops": [op], "kind": kind}),
        frozenset({case}),
        frozenset(),
        (f"^{called}", said),
    )


def _dtypes() -> Iterator[Cell]:
    """Yield dtypes that a library refuses by an error of its own, and dtypes that do not exist."""
    only, said = (
        frozenset({"dtypes"}),
        ("float16: RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE",),
    )
    # On CUDA noncontiguous-ops does not ask for dtypes: every GPU has them, and the case tells.
    for script, kernel, more, on_cuda in (
        (_MATMUL, "products", {"ops": ["bmm"]}, only),
        (_ATTENTION, "attention", {}, only),
        (_OPS, "elementwise", {"ops": ["cat"]}, frozenset({"join"})),
    ):
        yield Cell(
            script,
            (kernel, {**more, "kind": "library error", "dtype": "float16"}),
            only,
            frozenset(),
            said,
            on_cuda=on_cuda,
        )
        yield Cell(script, (kernel, {**more, "kind": "dtype unknown", "dtype": "float16"}))


def _large() -> Iterator[Cell]:
    """Yield faults that begin with a size."""
    both, rows = ["mm", "bmm"], "gradient of linear to one output over 3840 rows"
    long, gradient = frozenset({"long-inner"}), frozenset({"one-output-gradient"})
    every = long | gradient | {"wide-columns", "huge-batch"}
    yield Cell(_LARGE, ("products", {"ops": both}), settings=_DEEP)
    yield Cell(
        _LARGE,
        ("products", {"ops": both, "kind": "terms invented"}),
        long,
        frozenset(),
        ("^mm, inner length 32769, float32",),
    )
    said = (f"^(mm, inner length 32769|{rows}, weight), float32",)
    yield Cell(
        _LARGE,
        ("products", {"ops": both, "kind": "last tile dropped"}),
        long | gradient,
        frozenset(),
        said,
    )
    extra = ("products", {"ops": ["mm"], "kind": "row too many"})
    yield Cell(_LARGE, extra, long | gradient, says=("has shape|invalid gradient|size of tensor",))
    repeated = ("products", {"ops": ["mm"], "kind": "operand ignored", "layout": "expanded"})
    yield Cell(_LARGE, repeated, gradient, frozenset(), (f"^{rows}, input",))
    deep = {
        "columns overflow": frozenset({"wide-columns"}),
        "last batch dropped": every,
        "strides ignored": frozenset({"huge-batch"}),
    }
    for kind, red in deep.items():
        yield Cell(
            _LARGE,
            ("products", {"ops": both, "kind": kind}),
            red,
            frozenset(),
            ("elements are wrong",),
            _DEEP,
        )


def _exchange() -> Iterator[Cell]:
    """Yield faults of sums and copies, and of what two GPUs exchange.

    The GPUs are played by the CPU.
    """
    handles, trip = frozenset({"two-handles"}), frozenset({"round-trip"})
    ways = {"add.Tensor": "^x \\+ y", "add_.Tensor": "^in place", "add.out": "^into out"}
    yield Cell(_CROSS, ("sums", {"ops": list(ways)}))
    for op, says in ways.items():
        yield Cell(
            _CROSS,
            ("sums", {"ops": [op], "kind": "operand ignored"}),
            handles,
            frozenset(),
            (says, "16384 of 16384 elements are wrong"),
        )
    yield Cell(
        _CROSS,
        ("sums", {"ops": ["add.out"], "kind": "never written"}),
        handles,
        frozenset(),
        ("^into out", "the first is nan"),
    )
    other = ("sums", {"ops": ["add.Tensor"], "kind": "other dtype"})
    yield Cell(_CROSS, other, handles, says=(r"^x \+ y .+ the result is float64",))
    yield Cell(_CROSS, ("copies", {}))
    for lost, says in (
        ({"last": 1}, "1 of 1 bytes"),
        ({"first": 64}, "1 of 1 bytes"),
        ({"every": 4096}, "1 of 4097 bytes differ, the first at 4095"),
    ):
        yield Cell(
            _CROSS, ("copies", lost), trip, frozenset(), ("^host to cpu and back, pageable", says)
        )
    yield Cell(_CROSS, ("two_gpus", {}), settings={"CANARY_DEVICES": "cuda:0"})
    pairs = frozenset({"every-pair", "peer-access-off", "pairs-through-host"})
    table: list[tuple[dict[str, Any], frozenset[str], str]] = [
        (
            {"lossy": "direct"},
            frozenset({"every-pair"}),
            r"^cuda:0 to cuda:1 as torch copies \(peer access possible\)",
        ),
        (
            {"lossy": "direct", "can_access": False},
            frozenset({"every-pair"}),
            r"as torch copies \(peer access not possible\)",
        ),
        (
            {"lossy": "detour"},
            frozenset({"peer-access-off"}),
            "^cuda:0 to cuda:1 with peer access off",
        ),
        ({"lossy": "host"}, pairs | trip, "^(host to cuda:0 and back|cuda:0 to cuda:1)"),
        (
            {"scalars": "offset ignored"},
            frozenset({"mixed-devices"}),
            r"^device \+ an element of a host tensor",
        ),
        ({"mixing": "operand ignored"}, frozenset({"mixed-devices"}), r"^device \+ host"),
    ]
    for played, red, says in table:
        yield Cell(
            _CROSS, ("two_gpus", played), red, frozenset(), (says,), {"CANARY_DEVICES": "cuda:0"}
        )

"""What host code asks of tensors whose class is not in the tree: the same question has one answer, until it may not."""

from pathlib import Path

import pytest

from cutecheck.model.ints import Rel, as_expr
from cutecheck.tests.source.test_extract import run

TEXT = """
__global__ void k(half_t* p, int64_t row) {
  Tensor g = make_tensor(make_gmem_ptr(p), make_shape(_8{}, _64{}), make_stride(row, _1{}));
  copy(g, make_tensor<half_t>(Layout<Shape<_8, _64>>{}));
}
__global__ void other(half_t* p) { Tensor t = make_tensor<half_t>(_8{}); unknown(p)[0] = thing(t); }
struct Params { half_t* p; int64_t row; };
void launch(at::Tensor const& x, int64_t row) { k<<<1, 32>>>((half_t*)x.data_ptr(), row); }
void run(Params& a) { k<<<1, 32>>>(a.p, a.row); }
void set(Params& a, const at::Tensor x) { a = {}; a.row = x.stride(-2); }
void check(const torch::Tensor& t) { TORCH_CHECK(t.is_cuda()); TORCH_CHECK(t.dim() == 2 && t.stride(0) % 8 == 0); }
static void dense(const at::Tensor& t) { if (!t.is_contiguous()) throw std::invalid_argument("no"); }
bool aligned(at::Tensor const& t) { return t.stride(0) % 8 == 0; }
void declared(at::Tensor& t);
void renewed(at::Tensor& t) { t = pad(3); }
struct Given { at::Tensor q; };
#define OWN_CHECK(x) TORCH_CHECK(x.stride(0) % 8 == 0, #x " must be aligned")
#define CHECK_SHAPE(x, ...) TORCH_CHECK(x.sizes() == torch::IntArrayRef({__VA_ARGS__}), #x)
void host(at::Tensor q, at::Tensor o, c10::optional<at::Tensor> opt, std::vector<at::Tensor> const& in, Given t,
          bool c) {
  BODY
}
"""
Q = "TORCH_CHECK(q.stride(0) % 8 == 0);"
ROWS = "TORCH_CHECK(q.dim() == 2 && q.size(1) % 8 == 0);"
AT = "launch(q, q.stride(0));"

SAME = [
    f"OWN_CHECK(q); {AT}",
    f'AT_ASSERTM(q.stride(0) % 8 == 0, "no"); {AT}',
    f"if (q.stride(0) % 8 != 0) throw std::runtime_error(0); {AT}",
    f"if (q.stride(0) % 8) throw std::runtime_error(0); {AT}",
    f'TVM_FFI_ICHECK(q.stride(0) % 8 == 0) << "no"; {AT}',
    f"TORCH_CHECK_EQ(q.stride(0) % 8, 0); {AT}",
    f"check(q); {AT}",
    f"TORCH_CHECK(aligned(q)); {AT}",
    f"auto s = q.stride(0); {Q} launch(q, s);",
    f"{Q} auto f = [&] {{ {AT} }}; f();",
    f"{Q} auto out = torch::empty_like(q); at::cuda::CUDAGuard guard{{(char)q.get_device()}}; {AT}",
    f"if (!q.is_contiguous()) q = q.contiguous(); {Q} {AT}",
    "auto x = c ? q : q.contiguous(); OWN_CHECK(x); launch(x, x.stride(0));",
    "TORCH_CHECK(q.stride(-2) % 8 == 0); Params a; set(a, q); run(a);",
    f"{Q} Params a{{.p = (half_t*)q.data_ptr(), .row = q.stride(0)}}; run(a);",
    "OWN_CHECK(opt.value()); auto x = opt.value(); launch(x, x.stride(0));",
    "auto const& x = in[0]; OWN_CHECK(x); launch(x, x.stride(0));",
    "OWN_CHECK(t.q); launch(t.q, t.q.stride(0));",
    "auto n = q.sizes(); TORCH_CHECK(n[1] % 8 == 0); launch(q, q.size(1));",
    "TORCH_CHECK(q.dim() == 2); TORCH_CHECK(q.size(-1) % 8 == 0); launch(q, q.size(1));",
    "TORCH_CHECK(q.size(1) % 8 == 0); auto x = q.to(at::kHalf).contiguous(); launch(x, x.size(1));",
    "TORCH_CHECK(q.dim() == 2 && q.size(1) % 8 == 0); auto x = q.contiguous(); launch(x, x.stride(0));",
    "TORCH_CHECK(q.size(1) % 8 == 0); auto x = torch::empty({q.size(0), q.size(1)}); launch(x, x.stride(0));",
    "TORCH_CHECK(q.size(-1) % 8 == 0); auto x = torch::zeros(q.sizes()); launch(x, x.stride(-2));",
    "TORCH_CHECK(q.is_contiguous() && q.dim() == 2); TORCH_CHECK(q.size(1) % 8 == 0); launch(q, q.stride(0));",
    "int d = q.size(1); TORCH_CHECK(d % 8 == 0); CHECK_SHAPE(o, 10, d); launch(o, o.size(1));",
    f"if (q.stride(0) == 128) {{ {AT} }}",
    f'if (!q.is_contiguous()) throw std::invalid_argument("no"); {ROWS} launch(q, q.stride(0));',
    f'if (!q.is_cuda() || !q.is_contiguous()) AT_ERROR("no"); {ROWS} launch(q, q.stride(0));',
    f"dense(q); {ROWS} launch(q, q.stride(0));",
    'if (q.stride(0) % 8 != 0) AT_ERROR("no"); launch(q, q.stride(0));',
    "TORCH_CHECK(q.size(-1) % 8 == 0); auto x = q.contiguous().view({-1, q.size(-1)}); launch(x, x.stride(0));",
    f"dense(q); {ROWS} auto x = q.reshape({{-1, q.size(1)}}); launch(x, x.stride(0));",
    f"{Q} auto x = q.transpose(0, 1); launch(x, x.stride(1));",
    f"{Q} auto x = q.transpose(-1, -2); TORCH_CHECK(q.dim() == 2); launch(x, x.stride(-1));",
    "TORCH_CHECK(q.stride(2) % 8 == 0); auto x = q.permute({2, 0, 1}); launch(x, x.stride(0));",
    f"{Q} launch(q, q.t().stride(1));",
    f"{ROWS} auto x = q.transpose(0, 1).contiguous(); launch(x, x.size(0));",
    f"{ROWS} TORCH_CHECK(q.is_contiguous()); auto x = torch::empty_like(q); launch(x, x.stride(0));",
    f"{Q} other<<<1, 32>>>((half_t*)o.data_ptr()); {AT}",
    f"{Q} const at::cuda::OptionalCUDAGuard guard(device_of(q)); CHECK_INPUT(q); {AT}",
]
OTHERS = [
    f"{Q} launch(o, o.stride(0));",
    f"{Q} launch(q, q.stride(1));",
    f"if (q.is_contiguous()) throw std::invalid_argument(0); {ROWS} launch(q, q.stride(0));",
    f"if (!q.is_contiguous() && c) throw std::invalid_argument(0); {ROWS} launch(q, q.stride(0));",
    f"{ROWS} auto x = q.view({{q.size(0), q.size(1)}}); launch(x, x.stride(0));",
    f"dense(q); auto x = q.transpose(0, 1); {ROWS} launch(x, x.size(1));",
    f"{Q} auto x = q.transpose(0, 1); launch(x, x.stride(0));",
    f"{Q} auto x = q.transpose(0, 2); launch(x, x.stride(1));",
    f"{Q} auto x = q.transpose(-1, -2); launch(x, x.stride(-1));",
    f"{Q} auto x = q.permute({{2, 0, 1}}); launch(x, x.stride(0));",
    f"{ROWS} auto x = q.transpose(0, 1).contiguous(); launch(x, x.size(1));",
    f"{Q} launch(q, q.t().stride(0));",
    f"{Q} q.resize_({{3, 5}}); {AT}",
    f"auto b = q; {Q} b.resize_({{3, 5}}); {AT}",
    f"{Q} q = o; {AT}",
    f"{Q} if (c) q = o; {AT}",
    f"{Q} q = q.contiguous(); {AT}",
    f"{Q} declared(q); {AT}",
    f"{Q} renewed(q); {AT}",
    f"{Q} lib::pad(q); {AT}",
    f"{Q} std::swap(q, o); {AT}",
    f"at::Tensor& r = q; {Q} r = pad(2); {AT}",
    f"at::Tensor* r = &q; {Q} *r = pad(2); {AT}",
    f"{Q} Keeper keeper(q); keeper.change(); {AT}",
    f"{Q} auto f = [&] {{ q = pad(1); }}; f(); {AT}",
    f"{Q} auto f = [&] {{ q = pad(1); }}; lib::apply(f); {AT}",
    "if (c) { OWN_CHECK(q); } " + AT,
    "TORCH_CHECK(q.size(-1) % 8 == 0); launch(q, q.size(1));",
    "auto x = q.contiguous(); OWN_CHECK(q); launch(x, x.stride(0));",
]


@pytest.mark.parametrize(("body", "same"), [*((b, True) for b in SAME), *((b, False) for b in OTHERS)])
def test_what_is_stated_of_a_tensor_holds_of_what_a_kernel_is_given(tmp_path: Path, body: str, same: bool) -> None:
    facts = run(tmp_path, TEXT.replace("BODY", body))
    events = [e for e in facts.events if "row" not in str(e.operands[0].layout)]
    assert events
    for event in events:
        rows = as_expr(event.operands[0].layout.stride[0])  # type: ignore[union-attr]
        holds = [h.condition for h in event.hypotheses]
        divided = any(c.rel is Rel.DIVIDES and c.rhs == rows for c in holds)
        equal = [c.rhs if c.lhs == rows else c.lhs for c in holds if c.rel is Rel.EQ and rows in (c.lhs, c.rhs)]
        known = divided or any(c.rel is Rel.DIVIDES and c.rhs in equal for c in holds)
        assert known is same, (rows, holds)


def test_a_method_that_is_not_known_is_no_question(tmp_path: Path) -> None:
    body = "TORCH_CHECK(q.next() % 8 == 0); launch(q, q.next());"
    (event,) = run(tmp_path, TEXT.replace("BODY", body)).events
    assert not event.hypotheses

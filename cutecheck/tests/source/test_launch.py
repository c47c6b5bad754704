"""Kernels launched by function calls: the arguments and the block size reach the kernel."""

from pathlib import Path

import pytest

from cutecheck.engine.check import check_facts
from cutecheck.model.prove import prove
from cutecheck.rules import RULES
from cutecheck.tests.source.test_extract import run

KERNEL = """
template <class T, class L, class Tma> __global__ void kernel(T const* p, L l, Tma tma, int M) {
  extern __shared__ char smem[];
  auto s = make_tensor(make_smem_ptr(reinterpret_cast<T*>(smem)), l);
  auto g = local_tile(tma.get_tma_tensor(make_shape(M, M)), shape(l), make_coord(blockIdx.x, 0));
  auto cta = tma.get_slice(0);
  copy(tma, cta.partition_S(g), cta.partition_D(s));
}
void host(half_t* p, int M) {
  auto t = make_tensor(make_gmem_ptr(p), make_layout(make_shape(M, M), make_stride(M, Int<1>{})));
  auto s = Layout<Shape<_64, _64>, Stride<_64, _1>>{};
  auto c = make_tma_copy(SM90_TMA_LOAD{}, t, s);
  dim3 grid(4), block(128), cluster(2, 1, 1);
"""
ADDRESS = "&kernel<half_t, decltype(s), decltype(c)>"
WAYS = {
    "parameters": """
      cutlass::ClusterLaunchParams params = {grid, block, cluster, 1000};
      void const* f = reinterpret_cast<void const*>(ADDRESS);
      cutlass::Status status = cutlass::launch_kernel_on_cluster(params, f, p, s, c, M); }""",
    "braces": """
      auto* f = ADDRESS;
      cutlass::launch_kernel_on_cluster({grid, block, cluster, 1000}, (void const*) f, p, s, c, M); }""",
    "designated": """
      void *f;
      f = (void *)ADDRESS;
      cutlass::ClusterLaunchParams params{.grid_dims = grid, .block_dims = block, .cluster_dims = cluster,
                                          .smem_size_in_bytes = 1000};
      cutlass::launch_kernel_on_cluster(params, f, p, s, c, M); }""",
    "runtime": """
      cudaLaunchConfig_t config = {0};
      config.gridDim = grid; config.blockDim = block; config.dynamicSmemBytes = 1000;
      cudaLaunchKernelEx(&config, ADDRESS, p, s, c, M); }""",
    "hidden arguments": """
      cudaLaunchConfig_t config{};
      config.blockDim = block; config.dynamicSmemBytes = 1000;
      void* args[] = {&p, &s, &c, &M};
      cudaLaunchKernelExC(&config, (void const*) ADDRESS, args); }""",
}


@pytest.mark.parametrize("way", WAYS)
def test_the_kernel_is_walked_with_its_block(tmp_path: Path, way: str) -> None:
    facts = run(tmp_path, KERNEL + WAYS[way].replace("ADDRESS", ADDRESS), arch="sm_90a")
    (launch,) = facts.launches
    assert launch.kernel.startswith("kernel<")
    assert (launch.block_threads, str(launch.smem_bytes)) == (128, "1000")
    if way in ("parameters", "braces", "designated"):
        assert launch.cluster == 2
    (event,) = facts.events
    assert event.reason is None
    assert event.threads == 128
    assert [o.space for o in event.operands] == ["coord", "smem"]


def test_a_kernel_object(tmp_path: Path) -> None:
    text = """
    template <int N> struct Kernel {
      struct Params { float* p; };
      struct Storage { array_aligned<float, N> a; };
      CUTLASS_DEVICE void operator()(Params const& params, char* smem) {
        Storage& storage = *reinterpret_cast<Storage*>(smem);
        auto s = make_tensor(make_smem_ptr(storage.a.data()), Layout<Shape<Int<N>>>{});
        auto g = make_tensor(make_gmem_ptr(params.p), Layout<Shape<Int<N>>>{});
        auto thr = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<_32>{}, Layout<_1>{})
                     .get_slice(threadIdx.x);
        copy(thr, thr.partition_S(g), thr.partition_D(s));
      }
    };
    void host(float* p) {
      using K = Kernel<256>;
      dim3 block(32);
      cutlass::ClusterLaunchParams params = {dim3(1), block, dim3(1), 1024};
      cutlass::launch_kernel_on_cluster(params, (void const*) cutlass::device_kernel<K>, K::Params{p});
    }"""
    facts = run(tmp_path, text, arch="sm_90a")
    (launch,) = facts.launches
    assert launch.kernel == "cutlass::device_kernel<Kernel<256>>"
    (event,) = facts.events
    assert event.reason is None
    assert event.threads == 32
    assert [str(o.layout) for o in event.operands] == ["((_1,_1),(_8)):((_0,_0),(_32))"] * 2


TWICE = """
template <class T> __global__ void kernel(T* p) {
  Tensor g = make_tensor(make_gmem_ptr(p), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto c = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, T>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                           Layout<Shape<_1, _8>>{});
  auto t = c.get_slice(threadIdx.x);
  auto r = make_fragment_like(t.partition_S(g));
  copy(c, t.partition_S(g), r);
}
void one(half_t* p) { kernel<<<1, 128>>>(p); }
void other(half_t* p) { kernel<<<2, 64>>>(p); }
void again(half_t* p) { kernel<<<3, dim3(64)>>>(p); }
template <int N> void sized(half_t* p) { kernel<<<1, N>>>(p); }
void more(half_t* p) { sized<128>(p); sized<32>(p); }
"""


def test_a_kernel_is_judged_under_every_block_that_it_is_launched_with(tmp_path: Path) -> None:
    facts = run(tmp_path, TWICE)
    assert sorted(launch.block_threads for launch in facts.launches) == [32, 64, 64, 128, 128]
    assert sorted(event.threads for event in facts.events) == [32, 64, 128]
    small = {f.message for f in check_facts(facts, RULES, prove, lambda _: None).findings if f.code == "CUT701"}
    assert len(small) == 2 and any("64" in m for m in small) and any("32" in m for m in small)


@pytest.mark.parametrize("number", ["int", "int64_t"])
def test_a_tensor_is_of_the_type_that_is_asked_for(tmp_path: Path, number: str) -> None:
    """Its run-time numbers, which all threads of a kernel have in common, have other names in the type."""
    text = f"""
    template <class Coords> __global__ void kernel(float* p, Coords c) {{
      __shared__ float s[512];
      copy(make_tensor(make_gmem_ptr(p), make_layout(_512{{}})), make_tensor(make_smem_ptr(s), make_layout(_512{{}})));
    }}
    template <class Coords> void host(float* p, Coords c) {{
      auto* f = &kernel<decltype(c)>;
      cudaLaunchConfig_t config{{}};
      config.blockDim = dim3(96);
      cudaLaunchKernelEx(&config, f, p, c);
    }}
    void run(float* p) {{
      {number} rows = 4;
      while (mystery()) rows = other(rows);
      host(p, make_identity_tensor(make_shape(rows, 64)));
    }}
    """
    facts = run(tmp_path, text, arch="sm_90a")
    assert not facts.errors
    assert [event.threads for event in facts.events] == [96]


ROWS = """
__global__ void kernel(half_t* p, int lda) {
  __shared__ half_t s[4096];
  auto tc = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto t = tc.get_slice(threadIdx.x);
  auto g = make_tensor(make_gmem_ptr(p), make_shape(_64{}, _64{}), make_stride(lda, _1{}));
  copy(tc, t.partition_S(g), t.partition_D(make_tensor(make_smem_ptr(s), Layout<Shape<_64, _64>, Stride<_64, _1>>{})));
}
"""
CHECKED = "void checked(half_t* p, int m) { TORCH_CHECK(m % 8 == 0); kernel<<<1, 128>>>(p, m); }"
OPEN = "void open(half_t* p, int n) { kernel<<<1, 128>>>(p, n); }"
EIGHTS = "void eights(half_t* p, int n) { kernel<<<1, 128>>>(p, 8 * n); }"
INLINE = "void both(half_t* p, int n, bool b) { if (b) { assert(n % 8 == 0); K } else { K } }".replace(
    "K", "kernel<<<1, 128>>>(p, n);"
)
SIXTEENTHS = "void sixteenths(half_t* p, int n) { assert(n % 16 == 0); kernel<<<1, 128>>>(p, n); }"
SEVENTHS = "".join(
    f"void f{n}(half_t* p, int n) {{ assert(n % {n} == 0); kernel<<<1, 128>>>(p, n * {n}); }}" for n in range(7, 49, 7)
)


@pytest.mark.parametrize(
    ("hosts", "open_", "events"),
    [
        ((CHECKED,), 0, 1),
        ((CHECKED, CHECKED), 0, 1),
        ((EIGHTS, CHECKED), 0, 2),
        ((CHECKED, EIGHTS), 0, 2),
        ((OPEN,), 1, 1),
        ((OPEN, CHECKED), 1, 1),
        ((CHECKED, OPEN), 1, 1),
        ((SIXTEENTHS, CHECKED, OPEN), 1, 1),
        ((OPEN, EIGHTS), 1, 2),
        ((EIGHTS, OPEN), 1, 1),
        ((INLINE,), 1, 1),
        ((SEVENTHS,), 4, 5),  # the last time with any argument
        ((CHECKED, SEVENTHS, OPEN), 1, 1),
    ],
)
def test_a_kernel_is_judged_by_every_launch_whatever_the_order(
    tmp_path: Path, hosts: tuple[str, ...], open_: int, events: int
) -> None:
    """What the first launch that is met checks is not taken to hold where the kernel is launched without, nor what one
    function checks of its parameter in another that has one of this name."""
    facts = run(tmp_path, ROWS + "\n".join(hosts))
    assert not facts.errors and len(facts.events) == events
    outcomes = check_facts(facts, RULES, prove, lambda _: None).outcomes
    assert sum(o.verdict.value == "unknown" for o in outcomes if o.obligation.property == "vector-aligned") == open_


def test_a_number_that_is_not_known_is_one_for_all_threads_of_a_kernel(tmp_path: Path) -> None:
    """It was another in each thread, and at each use: nothing was said of the sectors of a load."""
    host = "void host(half_t* p, float f) { int n = f; kernel<<<1, 128>>>(p, n); }"
    (event,) = run(tmp_path, ROWS + host).events
    assert "~" not in str(event.operands[0])


BY_ADDRESS = """
struct Params { half_t const* in; int stride; };
__global__ void kernel(Params const p, int tile) {
  Tensor r = make_tensor<half_t>(Shape<_8>{});
  Tensor g = make_tensor(make_gmem_ptr(p.in + int(threadIdx.x) * p.stride + int(blockIdx.x) * tile), Layout<_8>{});
  copy(AutoVectorizingCopyWithAssumedAlignment<128>{}, g, r);
}
void host(half_t* p, int const* table, void* stream) {
  Params params{p, 8 * table[0]};
  KIND tile = 256;
  void* args[] = {&params, &tile};
  cudaLaunchKernel((void const*) kernel, dim3(1), dim3(256), args, 0, stream);
}
"""


def test_what_the_addresses_of_arguments_lead_to_is_known_to_the_kernel(tmp_path: Path) -> None:
    (event,) = run(tmp_path, BY_ADDRESS.replace("KIND", "int")).events
    assert str(event.operands[0].offset) == "8**table#1*threadIdx.x + 256*blockIdx.x"


def test_of_a_variable_of_another_type_than_the_parameter_nothing_is_known(tmp_path: Path) -> None:
    (event,) = run(tmp_path, BY_ADDRESS.replace("KIND", "long")).events
    assert str(event.operands[0].offset) == "8**table#1*threadIdx.x + blockIdx.x*tile"


ATTRIBUTES = {
    "one": ("cudaLaunchAttribute a; a.id = CLUSTER; a.val.clusterDim = {2, 1, 1}; config.attrs = &a;", "1", 2),
    "last": (
        "cudaLaunchAttribute a[2]; a[0].id = cudaLaunchAttributePriority; a[0].val.priority = 1; a[1].id = CLUSTER; "
        "a[1].val.clusterDim.x = 2; a[1].val.clusterDim.y = 4; a[1].val.clusterDim.z = 1; config.attrs = a;", "2", 8,
    ),
    "more under a condition": (
        "cudaLaunchAttribute a[2]; int k = 0; a[k].id = CLUSTER; a[k].val.clusterDim = dim3(2, 1, 1); ++k; "
        "if (M) { a[k].id = cudaLaunchAttributePriority; ++k; } config.attrs = a;", "k", 2,
    ),
    "unknown": (
        "cudaLaunchAttribute a[1]; a[0].id = CLUSTER; a[0].val.clusterDim = dim3(M, 1, 1); config.attrs = a;", "1", None
    ),
    "none": ("cudaLaunchAttribute a[1]; a[0].id = CLUSTER; a[0].val.clusterDim = {2, 1, 1};", "0", None),
}  # fmt: skip


@pytest.mark.parametrize("way", ATTRIBUTES)
def test_attributes_of_a_launch_say_what_its_clusters_are(tmp_path: Path, way: str) -> None:
    text, many, cluster = ATTRIBUTES[way]
    body = f"""
__global__ void kernel(int M) {{ auto shown = make_layout(M); }}
void host(int M) {{
  cudaLaunchConfig_t config{{}};
  config.gridDim = dim3(8); config.blockDim = dim3(128);
  {text.replace("CLUSTER", "cudaLaunchAttributeClusterDimension")}
  config.numAttrs = {many};
  cudaLaunchKernelEx(&config, kernel, M);
}}
"""
    (launch,) = run(tmp_path, body, arch="sm_90a").launches
    assert (launch.block_threads, launch.cluster) == (128, cluster)

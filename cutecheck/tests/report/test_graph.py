"""``facts --output-format graphml``: the facts as a graph that others read."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import networkx as nx

from cutecheck.cli.app import run
from cutecheck.report.graph import graphml, instantiation_graph
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

TEXT = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(half_t const* g) {
  __shared__ half_t buf[64 * 64];
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                               Layout<Shape<_1, _8>>{});
  auto src = make_tensor(make_gmem_ptr(g), make_layout(Shape<_64, _64>{}, LayoutRight{}));
  auto dst = make_tensor(make_smem_ptr(buf), make_layout(Shape<_64, _64>{}, LayoutRight{}));
  auto thread = tiled.get_slice(threadIdx.x);
  copy(tiled, thread.partition_S(src), thread.partition_D(dst));
}
void host(half_t const* g) { k<<<1, 128>>>(g); }
"""


def test_a_launch_leads_to_the_copy_its_configuration_and_its_buffer(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(TEXT)
    facts = extract(ExtractRequest((tmp_path,)))
    graph = instantiation_graph(facts)
    (event,) = facts.events
    (buffer,) = (n for n, d in graph.nodes(data=True) if d["kind"] == "buffer")
    assert nx.has_path(graph, "a.cu", event.event_id)
    assert graph.edges[event.event_id, buffer]["kind"] == "touches"
    reached = nx.descendants(graph, event.event_id)
    assert "tiled" in {graph.nodes[n]["label"].rpartition("::")[2] for n in reached}
    assert nx.is_directed_acyclic_graph(graph)


def test_the_command_writes_what_networkx_reads(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(TEXT)
    out = tmp_path / "facts.graphml"
    args = ["facts", str(tmp_path), "--no-cache", "--output-format", "graphml", "--output-file", str(out)]
    assert run(args) == 0
    read = nx.read_graphml(BytesIO(out.read_bytes()))
    again = nx.read_graphml(BytesIO(graphml(extract(ExtractRequest((tmp_path,)))).encode()))
    assert set(read.nodes) == set(again.nodes)
    assert {d["kind"] for _, d in read.nodes(data=True)} == {"file", "kernel", "copy", "site", "buffer"}
    assert {d["kind"] for _, _, d in read.edges(data=True)} == {"declares", "launches", "runs", "uses", "touches"}


def test_text_of_sources_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "a<b>&\u0007.cu").write_text(TEXT)
    text = graphml(extract(ExtractRequest((tmp_path,))))
    assert nx.read_graphml(BytesIO(text.encode()))
    assert "<b>" not in text

"""The facts as a graph: who launches which kernel, which copies and gemms run there, with what, on which buffers.

A node's ``kind`` is ``file``, ``kernel`` (also a function that nothing launches), ``copy``, ``gemm``, ``site`` or
``buffer``; an edge's is ``launches``, ``runs``, ``uses`` (the configuration with the value that a call was given, of
the same function if it has one), ``touches`` or ``declares``.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from cutecheck.facts import Facts
from cutecheck.report.text import safe

if TYPE_CHECKING:
    import networkx as nx


def instantiation_graph(facts: Facts) -> nx.DiGraph[str]:
    """A node for each file, kernel, call, configuration and buffer, of one architecture each but for files."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()

    def node(name: str, kind: str, label: str, place: object = "", arch: str = "") -> str:
        graph.add_node(safe(name), kind=kind, label=safe(label), place=safe(str(place)), arch=arch)
        return safe(name)

    def kernel(symbol: str, arch: str) -> str:
        return node(f"{symbol} {arch}", "kernel", symbol, arch=arch)

    made: dict[tuple[object, str, str], str] = {}  # configurations by value, architecture and where they are declared
    for site in facts.sites:
        file = node(site.span.file, "file", site.span.file)
        at = node(site.site_id, "site", site.symbol, site.call_span, site.arch)
        graph.nodes[at]["status"] = site.status
        graph.add_edge(file, at, kind="declares")
        for where in (site.symbol.rpartition("::")[0], ""):
            made.setdefault((_key(site.value), site.arch, where), at)
    for launch in facts.launches:
        if launch.kernel and launch.origin == "launch":
            file = node(launch.span.file, "file", launch.span.file)
            graph.add_edge(file, kernel(launch.kernel, launch.arch), kind="launches", place=safe(str(launch.span)))
    for event in facts.events:
        at = node(event.event_id, event.kind, event.callee, event.span, event.arch)
        graph.add_edge(kernel(event.enclosing, event.arch), at, kind="runs")
        for where in (event.enclosing, ""):
            used = made.get((_key(event.tiled), event.arch, where)) if event.tiled is not None else None
            if used is not None:
                graph.add_edge(at, used, kind="uses")
                break
    for buffer in facts.buffers:
        at = node(f"{buffer.buffer_id} {buffer.arch}", "buffer", buffer.name, buffer.span, buffer.arch)
        for event_id in buffer.accesses:
            if safe(event_id) in graph:
                graph.add_edge(safe(event_id), at, kind="touches")
    return graph


def _key(value: object) -> object:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def graphml(facts: Facts) -> str:
    """The graph as GraphML, which yEd, Gephi, Cytoscape and networkx read."""
    import networkx as nx

    out = BytesIO()
    nx.write_graphml(instantiation_graph(facts), out)
    return out.getvalue().decode() + "\n"

"""The page of a run of the matrix: tables of predicted and measured, plots, what differs and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, Any]


def write(results: Row, folder: Path, name: str) -> None:
    """``<name>.md`` and ``<name>-*.svg`` in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    plots = _plots(results, folder, name)
    lines = [*_head(results, name), *_summary(results), *_counters(results), *_flash(results), *_sources(results)]
    lines += [*_illegal(results), *_fixes(results), *_segments(results), *_differences(results)]
    text = "\n".join(lines) + "\n"
    for marker, file in plots.items():
        text = text.replace(f"PLOT({marker})", f"![{marker}]({file})" if file else "")
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def kernels(results: Row) -> Iterator[tuple[str, str, Row]]:
    """(group, name, measurement) of every kernel; the events of sources among them."""
    for item in results["items"]:
        yield item["group"], item["name"], item
    for source in results["sources"]:
        for event in source["events"]:
            if "measured" in event:
                yield source["group"], f"{source['name']}:{event['line']}", event["measured"]


def _head(results: Row, name: str) -> list[str]:
    e = results["environment"]
    return [
        f"# Confirmation on a GPU: {e['device']}",
        "",
        f"{e['date']}: {e['device']}, driver {e['driver']}, CUDA {e['cuda']} ({e['compiler']}, `-arch={e['arch']}`), "
        f"CUTLASS {e['cutlass']}, Nsight Compute {e['ncu']}, {e['cupy']}, Python {e['python']}.",
        "",
        "Written by `python scripts/confirmation_matrix.py --flash .../csrc/flash_attn/src`; the raw results are in "
        f"[{name}.json.xz]({name}.json.xz). The access model of `sm_90` is *measured* by this run (and by the tables "
        "of patterns in the tests); for every other architecture it is *assumed*, and reports say so.",
        "",
        *_calls(results),
        "Each kernel runs in a child process. Copies move coordinate codes, compared bitwise, into poisoned memory, "
        "and count every element they touch; GEMMs are compared exactly on coordinate-coded integers and with float64 "
        "on random inputs. Counters are of a bare run of the same cubin, without filling or dumping, by class of SASS "
        "instruction: *equal* means that every counter equals the prediction to the unit.",
        "",
    ]


def _calls(results: Row) -> list[str]:
    """How the run was cut, and what was measured again."""
    calls, again = results.get("calls", 1), [n for _, n, m in kernels(results) if m.get("again")]
    cut = f"All of it is one run, in {calls} calls (`--state`, `--seconds`)" if calls > 1 else "All of it is one run"
    more = (
        f"; {len(again)} kernels were measured again on the same day after a refinement (see *Differences*)"
        if again
        else ""
    )
    return [f"{cut}, on one GPU, with one compiler: {results['environment']['compiler']}{more}.", ""]


def _summary(results: Row) -> list[str]:
    groups: dict[str, Counter[str]] = {}
    for group, _, m in kernels(results):
        groups.setdefault(group, Counter())[m["outcome"]] += 1
        if m.get("merged"):
            groups[group]["merged"] += 1
        if m["outcome"] == "equal" and m.get("no_counters"):
            groups[group]["no counters"] += 1
    out = ["## Kernels", "", "| group | kernels | equal | of these merged or split | without counters | "
           "refused by CuTe | faulted | wrong | not run |", "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for group, c in groups.items():
        total = sum(c[k] for k in ("equal", "refused", "faulted", "wrong", "unavailable"))
        out.append(
            f"| {group} | {total} | {c['equal']} | {c['merged']} | {c['no counters']} | {c['refused']} | "
            f"{c['faulted']} | {c['wrong']} | {c['unavailable']} |"
        )
    return [*out, "", "*Merged or split*: the compiler made one access of several narrow neighbouring ones, or two "
            "of one (see below). Refused and faulted kernels of cases and fixtures are those that cutecheck reports; "
            "the section on sources has each.", ""]  # fmt: skip


def _counters(results: Row) -> list[str]:
    names: dict[str, list[tuple[int, int]]] = {}
    for _, _, m in kernels(results):
        for c in m.get("counted", ()):
            names.setdefault(c["name"], []).append((c["predicted"], c["measured"]))
    out = [
        "## Counters",
        "",
        "| counter | kernels | equal | predicted in all | measured in all |",
        "|---|---|---|---|---|",
    ]
    for name, rows in sorted(names.items()):
        exact = sum(p == m for p, m in rows)
        out.append(f"| {name} | {len(rows)} | {exact} | {sum(p for p, _ in rows)} | {sum(m for _, m in rows)} |")
    return [*out, "", "PLOT(wavefronts)", ""]


def _flash(results: Row) -> list[str]:
    found: dict[str, Counter[str]] = {}
    for item in results["items"]:
        if item["group"] == "FlashAttention-2":
            dim = item["name"].partition("head dimension ")[2] or "shared helpers"
            found.setdefault(dim, Counter())[item["outcome"]] += 1
    out = [
        "## FlashAttention-2, by head dimension",
        "",
        "| head dimension | kernels | equal | other |",
        "|---|---|---|---|",
    ]
    for dim in sorted(found, key=lambda d: (not d.isdigit(), int(d) if d.isdigit() else 0)):
        c = found[dim]
        out.append(f"| {dim} | {sum(c.values())} | {c['equal']} | {sum(c.values()) - c['equal']} |")
    return [*out, "", "Each different copy or GEMM of the forward and backward kernels once, in half precision.", ""]


def _sources(results: Row) -> list[str]:
    out = ["## Cases and fixtures", "", "| source | events | findings |", "|---|---|---|"]
    for s in results["sources"]:
        events = "; ".join(f"{n} {status}" for status, n in Counter(e["status"] for e in s["events"]).items())
        found = "; ".join(f"{f['code']} {f['status']}: {_short(f['reason'])}" for f in s["findings"])
        out.append(f"| {s['name']} | {events} | {found} |")
    return [*out, ""]


def _illegal(results: Row) -> list[str]:
    kinds: dict[str, list[Row]] = {}
    for one in results["illegal"]:
        kinds.setdefault(one["kind"], []).append(one)
    total = len(results["illegal"])
    shown = sum(o["shown"] != "not shown" for o in results["illegal"])
    found = sum(bool(o["codes"]) for o in results["illegal"])
    out = [
        "## Illegal configurations", "",
        f"{total} random sources: cutecheck reports an error in {found}; CuTe or the hardware shows it in {shown}.", "",
        "| mistake | sources | reported by cutecheck | refused by CuTe | faulted | counted | poison left | "
        "wrong values | not shown |",
        "|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for kind, rows in kinds.items():
        c = Counter(o["shown"] for o in rows)
        codes = ", ".join(sorted({x for o in rows for x in o["codes"]}))
        said = sum(bool(o["codes"]) for o in rows)
        cells = [c[k] for k in ("refused", "faulted", "counted", "poison left", "wrong values", "not shown")]
        out.append(f"| {kind} | {len(rows)} | {said} ({codes}) | " + " | ".join(map(str, cells)) + " |")
    left = [o for o in results["illegal"] if o["shown"] == "not shown"]
    return [*out, "", *(f"- not shown: {o['kind']}: {_short(o['reason'])}" for o in left), ""]


def _fixes(results: Row) -> list[str]:
    out = ["## Suggested layouts, before and after", "", "Cycles of one run of the reference kernel (256 runs in one "
           "launch, the least of three launches, alternating): of the copy alone, and of the GEMM around it where it "
           "reads an operand.", "",
           "| access | suggestion | wavefronts before | after | cycles before | after | faster |",
           "|---|---|---|---|---|---|---|"]  # fmt: skip
    for p in results["pairs"]:
        b, a = p["before"], p["after"]
        if not _believable(p):
            name = p["suggestion"].partition(":")[0]
            waves = f"{b.get('wavefronts', '')} | {a.get('wavefronts', '')}"
            out.append(f"| {p['name']} | {name} | {waves} | | | not timed |")
        elif b.get("cycles") and a.get("cycles"):
            ratio = f"{b['cycles'] / a['cycles']:.2f} x"
            out.append(
                f"| {p['name']} | {p['suggestion'].partition(':')[0]} | {b['wavefronts']} | {a['wavefronts']} | "
                f"{b['cycles']} | {a['cycles']} | {ratio} |"
            )
        else:
            out.append(f"| {p['name']} | {p['suggestion'].partition(':')[0]} | | | | | {_short(b.get('reason', ''))} |")
    for u in results.get("unpaired", ()):
        out.append(f"| {u['name']} | {_short(u['reason'])} | | | | | no suggestion is measured |")
    return [*out, "", "PLOT(fixes)", ""]


def _believable(pair: Row) -> bool:
    """Shared memory serves a wavefront a cycle: a shorter time means that loads were moved out of the repetition."""
    return all(not t.get("cycles") or t["cycles"] >= 0.95 * t["wavefronts"] for t in (pair["before"], pair["after"]))


def _segments(results: Row) -> list[str]:
    rows = results["segments"]
    out = ["## cp.async.cg: the segment model", ""]
    if isinstance(rows, str):
        return [*out, f"Not measured: {rows}", ""]
    out += ["One warp issues 64 copies of 16 bytes a lane and waits; cycles, the least of three launches, of fresh "
            "random patterns.", ""]  # fmt: skip
    for title, keep in (("Contiguous sources", True), ("Other sources", False)):
        some = [r for r in rows if r["family"].endswith("contiguous source") == keep]
        out += [f"### {title}: {len(some)} patterns", "", "| segments | patterns | least | median | most |",
                "|---|---|---|---|---|"]  # fmt: skip
        classes: dict[int, list[int]] = {}
        for r in some:
            classes.setdefault(r["segments"], []).append(r["cycles"])
        for n in sorted(classes):
            c = classes[n]
            out.append(f"| {n} | {len(c)} | {min(c)} | {median(c):.0f} | {max(c)} |")
        out += ["", f"Order: {_order(classes)}.", ""]
    out += ["PLOT(segments)", "", "### The FlashAttention-2 tile of 128 columns", "",
            "| tile | segments | cycles | wavefronts |", "|---|---|---|---|"]  # fmt: skip
    for p in results["pages"]:
        out.append(f"| {p['name']} | {p.get('segments', '')} | {p['cycles']} | {p.get('wavefronts', '')} |")
    return [*out, ""]


def _order(classes: dict[int, list[int]]) -> str:
    """Of all pairs of patterns of different classes: how many cost what the model's order says."""
    pairs = right = 0
    ordered = sorted(classes)
    for i, low in enumerate(ordered):
        for high in ordered[i + 1 :]:
            a, b = sorted(classes[low]), sorted(classes[high])
            j = 0
            for value in b:
                while j < len(a) and a[j] < value:
                    j += 1
                right += j
            pairs += len(a) * len(b)
    disjoint = all(max(classes[x]) < min(classes[y]) for x, y in pairwise(ordered))
    return (
        f"{right} of {pairs} pairs of patterns of different classes ({100 * right / max(1, pairs):.2f}%) cost what the "
        f"model orders; bands of cycles are {'disjoint' if disjoint else 'not all disjoint'}"
    )


def _differences(results: Row) -> list[str]:
    merged = [(g, n, m) for g, n, m in kernels(results) if m.get("merged")]
    again = [(g, n, m["again"]) for g, n, m in kernels(results) if m.get("again")]
    wrong = [(g, n, m) for g, n, m in kernels(results) if m["outcome"] == "wrong"]
    reasons = Counter(_short(m["reason"]) for _, _, m in kernels(results) if m["outcome"] in ("unavailable", "refused"))
    out = [
        "## Differences", "",
        f"**Merged or split accesses** ({len(merged)} kernels). Where a copy moves narrow elements that are neighbours "
        "in shared memory and whose alignment the compiler can prove, it may make one access of 2, 4 or 8 of them; it "
        "may also make two of a wide one. The prediction counts accesses as CuTe emits them; it is refined by the "
        "factor that explains the number of instructions (-2: split), and the wavefronts of what the compiler made are "
        "then predicted by the same model. *Equal* includes these kernels: all counters agree under one factor for "
        "each copy. Verdicts on such copies carry the assumption that the width is as CuTe emits it.", "",
        *(f"- {g}: {n}: {m['merged']}" for g, n, m in merged), "",
        *(["**Measured again after a refinement.** Where registers are spilled, reads of local memory are among the "
           "sectors that come from L2, and how many miss L1 changes from run to run: the plain loads that miss are "
           "then compared. First measured:", "", *(f"- {g}: {n}: {what}" for g, n, what in again), ""]
          if again else []),
        f"**Wrong** ({len(wrong)} kernels).", "",
    ]  # fmt: skip
    out += [f"- {g}: {n}: {m['reason']}" for g, n, m in wrong]
    out += ["", "**Refused or not run**, by reason:", ""]
    return [*out, *(f"- {n}: {reason}" for reason, n in reasons.most_common(40)), ""]


def _short(text: str) -> str:
    text = " ".join(text.split()).replace("|", "\\|")
    return text if len(text) <= 140 else text[:137] + "..."


def _plots(results: Row, folder: Path, name: str) -> dict[str, str]:
    try:
        import matplotlib
    except ImportError:  # the plots of an earlier page of the same results stay
        files = {m: f"{name}-{m}.svg" for m in ("wavefronts", "fixes", "segments")}
        return {m: file if (folder / file).is_file() else "" for m, file in files.items()}
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "cutecheck"
    from matplotlib import pyplot

    made = {}
    for marker, draw in (("wavefronts", _plot_wavefronts), ("fixes", _plot_fixes), ("segments", _plot_segments)):
        figure, axes = pyplot.subplots(figsize=(6.4, 4.2))
        draw(results, axes)
        figure.tight_layout()
        file = f"{name}-{marker}.svg"
        figure.savefig(folder / file, metadata={"Date": None})
        pyplot.close(figure)
        made[marker] = file
    return made


def _plot_wavefronts(results: Row, axes: Any) -> None:
    found: dict[str, set[tuple[int, int]]] = {}
    for _, _, m in kernels(results):
        for c in m.get("counted", ()):
            if c["name"].startswith("wavefronts_"):
                found.setdefault(c["name"].removeprefix("wavefronts_"), set()).add((c["predicted"], c["measured"]))
    for kind, points in sorted(found.items()):
        xs, ys = zip(*sorted(points), strict=True)
        axes.scatter(xs, ys, s=14, alpha=0.7, label=kind)
    axes.set(xscale="log", yscale="log", xlabel="wavefronts predicted", ylabel="wavefronts measured")
    low, high = axes.get_xlim()
    axes.plot([low, high], [low, high], linewidth=0.6, color="gray")
    axes.legend()


def _plot_fixes(results: Row, axes: Any) -> None:
    rows = [p for p in results["pairs"] if p["before"].get("cycles") and p["after"].get("cycles") and _believable(p)]
    places = range(len(rows))
    axes.barh([i + 0.2 for i in places], [p["before"]["cycles"] for p in rows], 0.4, label="as written")
    axes.barh([i - 0.2 for i in places], [p["after"]["cycles"] for p in rows], 0.4, label="suggested")
    axes.set_yticks(list(places), [p["name"][:34] for p in rows], fontsize=5)
    axes.set(xscale="log", xlabel="cycles of one run")
    axes.legend()


def _plot_segments(results: Row, axes: Any) -> None:
    rows: Sequence[Row] = results["segments"] if not isinstance(results["segments"], str) else ()
    for title, keep in (("contiguous sources", True), ("other sources", False)):
        some = sorted({(r["segments"], r["cycles"]) for r in rows if r["family"].endswith("contiguous source") == keep})
        if some:
            xs, ys = zip(*some, strict=True)
            axes.scatter(xs, ys, s=5, alpha=0.5, label=title)
    axes.set(xscale="log", yscale="log", xlabel="segments predicted", ylabel="cycles of 64 copies")
    axes.legend()

#!/usr/bin/env python3
"""Computes nodes, cores and memory from the measurements of engines/measure, and writes the tables of docs/scale.md.

usage: engines/scale.py            writes the tables
       engines/scale.py --check    fails if the page has other tables
"""

import json
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "scale.md"
START, END = "<!-- tables: engines/scale.py -->\n", "<!-- end of the tables -->\n"

# The assumptions. docs/scale.md has the reasons.
CORES = 16
MEMORY = 64 << 30
NETWORK = 25e9
CPU_USE = 0.6
MEMORY_USE = 0.7
NETWORK_USE = 0.7
# Nodes are in three zones, and any two of them must carry the whole load.
SPARE = 3 / 2
LEAST_NODES = 3
# Memory of the kernel for the two idle sockets of a connection.
KERNEL_BYTES = 8 << 10
# Bits per second of one connection, such as a chat or a sensor, in messages of 1 KiB.
BITS = 10_000
MESSAGE = 1024
TEXT = "mixed"
MESSAGES = "messages of 1 KiB"


def cost(measured, case, work=TEXT):
    """Returns the seconds of CPU for each byte of a text, or the microseconds for each message.

    The cost with the filter is that without it times the median of the ratios: the two were measured at the same times, so that
    other load changes their ratio less than the costs.
    """
    protocol, _, variant = case.partition("-")
    none = f"{protocol}-none"
    if work == MESSAGES:
        without = measured["cpu_microseconds_per_message_of_1_kib"][none][1]
    else:
        without = measured["cpu_seconds_per_gigabyte"][none][work][1] / 1e9
    return without * measured["ratios"][f"{protocol}, {work}"][1] if variant == "filter" else without


def need(measured, case, bits, connections):
    """Returns cores, bytes and nodes, and the resource that determines the number of nodes.

    Connections carry messages of 1 KiB, each with its cost. Without connections the traffic is large bodies, with the cost of
    their bytes.
    """
    if connections:
        cores = bits / 8 / MESSAGE * cost(measured, case, MESSAGES) / 1e6
    else:
        cores = bits / 8 * cost(measured, case)
    memory = connections * (measured["bytes_per_connection"][case] + KERNEL_BYTES)
    nodes = {
        "CPU": cores / (CORES * CPU_USE),
        "memory": memory / (MEMORY * MEMORY_USE),
        "network": bits / (NETWORK * NETWORK_USE),
    }
    limit = max(nodes, key=nodes.get)
    return cores, memory, max(LEAST_NODES, math.ceil(nodes[limit] * SPARE)), limit


def number(value):
    return f"{value:,.1f}" if value < 10 else f"{value:,.0f}"


def row(measured, label, protocol, bits, connections):
    cells = [label, protocol.upper()]
    for variant in ("none", "filter"):
        cores, memory, nodes, limit = need(measured, f"{protocol}-{variant}", bits, connections)
        cells += [number(cores), number(memory / (1 << 30)), f"{nodes:,} ({limit})"]
    return "| " + " | ".join(cells) + " |"


def tables(measured):
    head = [
        "| | | cores | GiB | nodes | cores with the filter | GiB | nodes |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines = ["### Connections", "", f"Each connection carries {BITS:,} bit/s, in messages of 1 KiB.", "", *head]
    for label, connections in (("1 million", 1e6), ("10 million", 1e7), ("1 billion", 1e9)):
        lines += [row(measured, label, protocol, connections * BITS, connections) for protocol in ("tcp", "http")]
    lines += ["", "### Throughput", "", "Over few connections, in large bodies.", "", *head]
    for gigabits in (10, 100, 1000):
        lines += [row(measured, f"{gigabits:,} Gbit/s", protocol, gigabits * 1e9, 0) for protocol in ("tcp", "http")]
    lines += ["", "### Small requests", "", "| requests of 1 KiB a second | cores | cores with the filter |", "|---:|---:|---:|"]
    for count in (100_000, 1_000_000, 10_000_000):
        cores = [count * cost(measured, case, MESSAGES) / 1e6 for case in ("http-none", "http-filter")]
        lines.append(f"| {count:,} | {number(cores[0])} | {number(cores[1])} |")
    lines += ["", "### What was measured", "", "| | seconds of CPU for each GB | with the filter | ratio, quartiles |", "|---|---:|---:|---|"]
    for key, (low, median, high) in measured["ratios"].items():
        protocol, _, work = key.partition(", ")
        values = [cost(measured, f"{protocol}-{variant}", work) for variant in ("none", "filter")]
        pair = [f"{value:.1f} µs a message" if work == MESSAGES else f"{value * 1e9:.3f}" for value in values]
        lines.append(f"| {protocol.upper()}, {work} | {pair[0]} | {pair[1]} | {median:.2f} ({low:.2f}-{high:.2f}) |")
    lines += ["", "| | KiB for each connection | with the filter |", "|---|---:|---:|"]
    for protocol in ("tcp", "http"):
        memory = [measured["bytes_per_connection"][f"{protocol}-{variant}"] / 1024 for variant in ("none", "filter")]
        lines.append(f"| {protocol.upper()}, with half of a character pending | {memory[0]:.1f} | {memory[1]:.1f} |")
    lines += ["", f"Envoy {measured['envoy']}, one worker, {measured['cpu']}."]
    return "\n".join(lines) + "\n"


def main():
    measured = json.loads((HERE / "measured.json").read_text())
    page = PAGE.read_text()
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    written = before + START + tables(measured) + END + after
    if sys.argv[1:] == ["--check"]:
        if written != page:
            print("docs/scale.md has other tables: run engines/scale.py")
        return int(written != page)
    PAGE.write_text(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())

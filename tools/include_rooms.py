#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""include_rooms.py - FOLDER ...: print how the subfolders (rooms) of each folder include each other.

Prints for each folder its rooms, the levels of inclusion, and every cycle; --edges also lists the edges. Exits with 1 if
there is a cycle. The files directly in FOLDER count as one room.
"""
import collections
import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def rooms_of(folder):
    """The room of every file below a folder, by its path in #include lines."""
    rooms = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".c", ".h", ".def")):
                path = os.path.relpath(os.path.join(place, name), "src")
                inside = os.path.relpath(place, folder)
                rooms[path] = "." if inside == "." else inside.split(os.sep)[0]
    return rooms


def edges_of(rooms):
    """The #include lines of each edge (room, included room)."""
    edges = collections.defaultdict(list)
    for path, room in rooms.items():
        with open(os.path.join("src", path), encoding="utf-8") as file:
            for name in INCLUDE.findall(file.read()):
                if rooms.get(name, room) != room:
                    edges[(room, rooms[name])].append((path, name))
    return edges


def components(rooms, edges):
    """Rooms that include each other, directly or indirectly."""
    reach = {room: {room} for room in rooms}
    for _ in rooms:
        for a, b in edges:
            reach[a] |= reach[b]
    return [sorted(r for r in rooms if r in reach[room] and room in reach[r]) for room in sorted(rooms)]


def levels(rooms, edges):
    """The number of rooms in the longest chain of inclusion."""
    depth = {room: 1 for room in rooms}
    for _ in rooms:
        for a, b in edges:
            depth[a] = max(depth[a], depth[b] + 1)
    return max(depth.values(), default=0)


def main():
    failed = False
    for folder in [a for a in sys.argv[1:] if not a.startswith("-")]:
        of = rooms_of(folder)
        rooms, edges = set(of.values()), edges_of(of)
        cycles = {tuple(c) for c in components(rooms, edges) if len(c) > 1}
        failed |= bool(cycles)
        chain = "a circle" if cycles else f"{levels(rooms, edges)} levels"
        print(f"{folder}: {len(of)} files, {len(rooms)} rooms, {chain}, {len(cycles)} cycles {sorted(cycles) or ''}")
        for (a, b), made_by in sorted(edges.items()) if "--edges" in sys.argv else ():
            print(f"    {a} -> {b}: {len(made_by)}, first {made_by[0][0]} includes {made_by[0][1]}")
    return 1 if failed else 0


sys.exit(main())

"""Makes store fixtures with the stores' own libraries: `python tools/make_store_fixtures.py STORE VERSION|all [OUT]`.

For one version of one library it makes a scratch environment with the packages of that library's time, lets the writer
of the store (`tools/store_writers/write_STORE.py`) write the corpus of the fixtures there, and packs what it wrote with
a manifest that says who wrote it. Needs uv and the Python versions that the old libraries ran on.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parent / "tests" / "fixtures" / "stores"


class Recipe(NamedTuple):
    """An environment: Python's version, the day after which nothing newer is taken, and the packages.

    The first package is the library that the fixture is of.
    """

    python: str
    day: str
    packages: str


RECIPES: dict[str, dict[str, Recipe]] = {
    "chroma": {
        "0.3.29": Recipe("3.10", "2023-07-12", "chromadb==0.3.29"),
        "0.4.0": Recipe("3.10", "2023-07-20", "chromadb==0.4.0"),
        "0.4.3": Recipe("3.10", "2023-08-01", "chromadb==0.4.3 numpy<2"),
        "0.4.24": Recipe("3.10", "2024-04-01", "chromadb==0.4.24 numpy<2"),
        "0.5.0": Recipe("3.11", "2024-05-10", "chromadb==0.5.0 numpy<2"),
        "0.5.23": Recipe("3.11", "2024-12-06", "chromadb==0.5.23"),
        "0.6.3": Recipe("3.11", "2025-01-15", "chromadb==0.6.3"),
        "1.0.0": Recipe("3.11", "2025-04-05", "chromadb==1.0.0"),
        "1.0.20": Recipe("3.11", "2025-08-20", "chromadb==1.0.20"),
        "1.3.7": Recipe("3.11", "2025-12-15", "chromadb==1.3.7"),
        "1.5.9": Recipe("3.11", "", "chromadb==1.5.9"),
    },
    "faiss": {
        "1.5.3": Recipe("3.7", "2019-12-01", "faiss-cpu==1.5.3 numpy"),
        "1.7.4": Recipe("3.10", "2023-06-01", "faiss-cpu==1.7.4 numpy"),
        "1.10.0": Recipe("3.11", "2025-02-15", "faiss-cpu==1.10.0 numpy"),
        "1.15.1": Recipe("3.11", "", "faiss-cpu==1.15.1 numpy"),
    },
    "haystack": {
        "1.26.4": Recipe("3.10", "2024-12-01", "farm-haystack==1.26.4 numpy<2 setuptools<70"),
        "2.5.1": Recipe("3.11", "2024-09-15", "haystack-ai==2.5.1 numpy<2"),
        "2.31.0": Recipe("3.11", "", "haystack-ai==2.31.0"),
        "3.4.1": Recipe("3.11", "", "haystack-ai==3.4.1"),
    },
    "hf": {
        "1.1.3": Recipe("3.8", "2020-12-01", "datasets==1.1.3"),
        "1.18.4": Recipe("3.8", "2022-03-15", "datasets==1.18.4"),
        "2.14.7": Recipe("3.10", "2023-12-01", "datasets==2.14.7 numpy<2"),
        "3.6.0": Recipe("3.11", "2025-06-01", "datasets==3.6.0"),
        "5.2.0": Recipe("3.11", "", "datasets==5.2.0"),
    },
    "lancedb": {
        "pylance-0.4.21": Recipe("3.10", "2023-06-15", "pylance==0.4.21 numpy<2"),
        "pylance-0.10.18": Recipe("3.10", "2024-06-01", "pylance==0.10.18 numpy<2"),
        "pylance-0.18.2": Recipe("3.10", "2024-10-15", "pylance==0.18.2 numpy<2"),
        "pylance-14.0.2": Recipe("3.11", "", "pylance==14.0.2"),
        "0.14.0": Recipe("3.11", "2024-10-15", "lancedb==0.14.0 numpy<2"),
        "0.20.0": Recipe("3.11", "2025-03-01", "lancedb==0.20.0"),
        "0.25.2": Recipe("3.11", "2025-10-30", "lancedb==0.25.2"),
        "0.33.0": Recipe("3.11", "", "lancedb==0.33.0 pyarrow"),
        "0.40.0": Recipe("3.11", "", "lancedb==0.40.0 pyarrow"),
    },
    "langchain": {
        "0.0.150": Recipe("3.10", "2023-04-27", "langchain==0.0.150 faiss-cpu==1.7.4 numpy<2"),
        "0.0.300": Recipe("3.10", "2023-09-25", "langchain==0.0.300 faiss-cpu==1.7.4 numpy<2"),
        "community-0.0.38": Recipe(
            "3.11", "2024-05-15", "langchain-community==0.0.38 faiss-cpu==1.8.0 numpy<2"
        ),
        "community-0.2.19": Recipe(
            "3.11", "2024-11-20", "langchain-community==0.2.19 faiss-cpu==1.9.0 numpy<2"
        ),
        "community-0.3.31": Recipe("3.11", "2025-11-01", "langchain-community==0.3.31 faiss-cpu==1.12.0"),
        "community-0.4.2": Recipe("3.11", "", "langchain-community==0.4.2 faiss-cpu==1.15.1"),
    },
    "llamaindex": {
        "0.8.69": Recipe("3.10", "2023-11-14", "llama-index==0.8.69 faiss-cpu==1.7.4 numpy<2 setuptools<70"),
        "0.9.48": Recipe(
            "3.10", "2024-02-12", "llama-index==0.9.48 faiss-cpu==1.7.4 chromadb==0.4.22 numpy<2"
        ),
        "0.10.68": Recipe(
            "3.11", "2024-08-23", "llama-index-core==0.10.68 {stores} faiss-cpu==1.8.0 numpy<2"
        ),
        "0.11.23": Recipe("3.11", "2024-11-19", "llama-index-core==0.11.23 {stores} faiss-cpu==1.9.0"),
        "0.12.52": Recipe("3.11", "2025-07-30", "llama-index-core==0.12.52 {stores} faiss-cpu==1.11.0"),
        "0.13.6": Recipe("3.11", "2025-09-08", "llama-index-core==0.13.6 {stores} faiss-cpu==1.11.0"),
        "0.14.25": Recipe("3.11", "", "llama-index-core==0.14.25 {stores} faiss-cpu==1.15.1"),
    },
    "parquet": {
        "pyarrow-0.17.1": Recipe("3.8", "2020-07-01", "pyarrow==0.17.1"),
        "pyarrow-7.0.0": Recipe("3.10", "2022-04-01", "pyarrow==7.0.0 numpy<2"),
        "pyarrow-26.0.1": Recipe("3.11", "", "pyarrow==26.0.1"),
        "polars-1.32.0": Recipe("3.11", "2025-08-10", "polars==1.32.0"),
        "duckdb-1.3.2": Recipe("3.11", "2025-08-10", "duckdb==1.3.2"),
    },
    "qdrant-export": {
        "1.3.2": Recipe("3.10", "2023-08-01", "qdrant-client==1.3.2 numpy<2"),
        "1.7.3": Recipe("3.11", "2024-02-15", "qdrant-client==1.7.3 numpy<2"),
        "1.12.2": Recipe("3.11", "2025-01-15", "qdrant-client==1.12.2"),
        "1.20.0": Recipe("3.11", "", "qdrant-client==1.20.0"),
    },
    "sqlite-vec": {
        version: Recipe("3.11", "", f"sqlite-vec=={version} apsw")
        for version in ("0.1.0", "0.1.1", "0.1.3", "0.1.6", "0.1.7", "0.1.9")
    },
    "vectors": {
        "numpy-1.17.5": Recipe("3.8", "2020-02-01", "numpy==1.17.5"),
        "safetensors-0.3.0": Recipe("3.10", "2023-04-01", "safetensors==0.3.0 numpy<2"),
        "safetensors-0.8.0": Recipe("3.11", "", "safetensors==0.8.0 numpy"),
    },
}
"""Store -> label of the fixture (the library's version, with its name where a store has several) -> environment."""

STORES = "llama-index-vector-stores-faiss llama-index-vector-stores-chroma"


def main() -> None:
    """Make the fixtures that were asked for."""
    store, label, *rest = sys.argv[1:]
    out = Path(rest[0]) if rest else FIXTURES
    for name, recipe in RECIPES[store].items():
        if label in {name, "all"}:
            make(store, name, recipe, out)


def make(store: str, label: str, recipe: Recipe, out: Path) -> None:
    """One fixture: `OUT/STORE-LABEL.tar.gz`."""
    with tempfile.TemporaryDirectory(prefix="store-fixture-") as made:
        scratch = Path(made)
        python = _environment(scratch / "venv", recipe)
        folder = scratch / "store"
        folder.mkdir()
        writer = [python, str(HERE / "store_writers" / "run.py"), store, str(FIXTURES / "corpus.json")]
        clean = {"HOME": made, "ANONYMIZED_TELEMETRY": "False"}
        if (
            "chroma" in recipe.packages or "{stores}" in recipe.packages
        ):  # it writes the unused part of its index to disk: let that be zeros
            clean["MALLOC_PERTURB_"] = "255"
        _run([*writer, str(folder)], **clean)
        cases = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
        (folder / "cases.json").unlink()
        manifest = {"store": store, "label": label, **_versions(python, recipe), "cases": cases}
        _pack(folder, manifest, out / f"{store}-{label}.tar.gz")
    sys.stdout.write(f"{store}-{label}: {len(cases)} stores\n")


def _environment(folder: Path, recipe: Recipe) -> str:
    """The interpreter of a new environment."""
    _run(["uv", "venv", "-q", "--python", recipe.python, str(folder)])
    python = str(folder / "bin" / "python")
    packages = recipe.packages.format(stores=STORES).split()
    newest = ["--exclude-newer", recipe.day] if recipe.day else []
    _run(["uv", "pip", "install", "-q", "--python", python, *newest, *packages])
    return python


def _versions(python: str, recipe: Recipe) -> dict[str, object]:
    """What was really installed."""
    listed = json.loads(_run(["uv", "pip", "list", "--python", python, "--format", "json"]))
    known = {entry["name"]: entry["version"] for entry in listed}
    asked = [
        part.partition("==")[0].partition("<")[0] for part in recipe.packages.format(stores=STORES).split()
    ]
    return {"python": recipe.python, "packages": {name: known[name] for name in asked}}


def _run(command: list[str], **environment: str) -> str:
    """Run a command in this environment or the one given; what it says goes into the error when it fails."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment or None)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def _pack(folder: Path, manifest: dict[str, object], path: Path) -> None:
    """A tar without owners and times, so that the same content gives the same bytes."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as archive:
        text = json.dumps(manifest, ensure_ascii=False, indent=1).encode()
        for name, content in [
            ("manifest.json", text),
            *(
                (str(entry.relative_to(folder)), entry.read_bytes())
                for entry in sorted(folder.rglob("*"))
                if entry.is_file()
            ),
        ]:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data.getvalue(), 9, mtime=0))


if __name__ == "__main__":
    main()

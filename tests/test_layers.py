"""The layers of DESIGN section 2, by what each file imports; and the README's promises about itself."""

import ast
import re

import pytest

from alphazero import game_names
from alphazero.game import PROJECT

GAMES = game_names()


def imports(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_by(folder):
    return {name for path in (PROJECT / folder).rglob("*.py") for name in imports(path)}


def test_the_engine_knows_no_game_no_web_and_no_gradio():
    tops = {name.split(".")[0] for name in imported_by("alphazero")}
    assert not tops & {*GAMES, "web", "gradio", "fastapi", "starlette", "app"}


@pytest.mark.parametrize("game", GAMES)
def test_a_game_sees_only_the_contract(game):
    contract = ("alphazero.game", "alphazero.settings", "alphazero.train_settings")
    others = {"alphazero", "web", *GAMES} - {game}
    ours = {name for name in imports(PROJECT / game / "__init__.py") if name.split(".")[0] in others}
    assert ours, "a game uses the contract"
    assert all(name.startswith(contract) for name in ours)
    # What stands beside the rules, opponents for the arena and programs of its own, may use a little more.
    public = {"alphazero", *(f"alphazero.{name}" for name in __import__("alphazero").__all__)}
    beside = {name for name in imported_by(game) - public if name.split(".")[0] in others}
    assert all(
        name.startswith((*contract, "alphazero.agents", "alphazero.kernel", "alphazero.proof")) for name in beside
    )


def test_the_web_sees_only_the_public_api():
    ours = {name for name in imported_by("web") if name.split(".")[0] in {"alphazero", *GAMES}}
    public = set(__import__("alphazero").__all__)
    assert all(name == "alphazero" or name.split(".")[1] in public for name in ours), ours


def test_search_sees_no_network_and_evaluators_no_search():
    for file in ("tree", "forest", "root"):
        seen = set(imports(PROJECT / "alphazero" / f"{file}.py"))
        assert not [n for n in seen if re.search(r"network|evaluator|checkpoint|torch|openvino", n)]
    for file in ("evaluator", "openvino_evaluator", "torch_evaluator", "network", "weights"):
        seen = set(imports(PROJECT / "alphazero" / f"{file}.py"))
        assert not [n for n in seen if re.search(r"alphazero\.(tree|forest|root|engine|lane|player|game)\b", n)]


@pytest.mark.parametrize("game", GAMES)
def test_a_game_is_short(game):
    assert len((PROJECT / game / "__init__.py").read_text("utf-8").splitlines()) <= 160


def test_readme_front_matter_fits_the_requirements():
    readme = (PROJECT / "README.md").read_text("utf-8")
    front = dict(line.split(": ", 1) for line in readme.split("---\n")[1].strip().splitlines())
    requirements = dict(
        line.split("==") for line in (PROJECT / "requirements.txt").read_text().splitlines() if "==" in line
    )
    assert front["sdk"] == "gradio"
    assert front["sdk_version"] == requirements["gradio"]
    assert (PROJECT / front["app_file"]).is_file()
    assert len(front["short_description"]) <= 60
    assert "pip install -r requirements.txt && python app.py" in readme.splitlines()
    assert "pip install -r requirements-dev.txt && pytest" in readme.splitlines()


def test_everything_is_pinned():
    for name in ("requirements.txt", "requirements-ray.txt", "requirements-dev.txt"):
        for line in (PROJECT / name).read_text().splitlines():
            assert re.fullmatch(r"#.*|-r requirements(-ray)?\.txt|[a-z0-9-]+==[0-9.]+", line), line


def test_links_between_documents_lead_somewhere():
    for page in [*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"

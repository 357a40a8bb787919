"""The same training on a Ray cluster of two nodes on this machine, one of which is killed in the middle."""

import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from alphazero import get_game
from alphazero.game import PROJECT
from alphazero.training.loop import Trainer
from alphazero.training.run_folder import RunFolder
from tests.test_train import TINY, flags, metrics

ray = pytest.importorskip("ray", reason="ray is optional; pip install -r requirements-ray.txt")

GAME = get_game("chain_reaction")


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.doomed = cluster.add_node(**node)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.slow
def test_a_node_killed_in_mid_iteration_does_not_stop_the_run(tmp_path, cluster):
    from alphazero.training.ray_crew import RayCrew

    settings = replace(GAME.training, **{**TINY, "workers": 2, "games": 60, "shard_games": 5, "gate": "none"})
    folder = RunFolder(tmp_path, GAME)
    crew = RayCrew(GAME, settings, 2, [0], cluster.address)
    trainer = Trainer(folder, folder.settings(settings), crew)
    seen = []

    def kill_in_the_middle():
        while len(crew.present()) < 2 or len(trainer.replay.shards) < 4:
            time.sleep(0.01)
        seen.append((len(trainer.replay.shards), crew.present()))
        cluster.remove_node(cluster.doomed, allow_graceful=False)

    killer = threading.Thread(target=kill_in_the_middle, daemon=True)
    killer.start()
    trainer.run(2)
    killer.join(60)
    shards, present = seen[0]
    assert shards < 12  # it was in the middle of the first iteration
    assert present == [0, 1]
    lines = metrics(tmp_path)
    assert [line["new_games"] >= 60 for line in lines] == [True, True]
    assert lines[1]["gate"]["games"] == 8  # matches, too, run on what is left
    crew.close()


def test_no_cluster_there_is_said_plainly(tmp_path):
    command = [sys.executable, "-m", "alphazero", "train", "tictactoe", "--run", str(tmp_path), *flags(**TINY)]
    result = subprocess.run(
        [*command, "--ray", "127.0.0.1:1"], cwd=PROJECT, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 2
    assert "no Ray cluster answers" in result.stderr
    assert "Traceback" not in result.stderr

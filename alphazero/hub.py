"""Checkpoints from the Hugging Face Hub: `owner/name`, or `owner/name@revision` to pin a commit, branch or tag."""

from __future__ import annotations

import re
from pathlib import Path

from alphazero.checkpoint import CONFIG, WEIGHTS, CheckpointError, read_config

PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
REPO_ID = re.compile(rf"({PART}/{PART})(?:@([A-Za-z0-9][A-Za-z0-9._/-]{{0,99}}))?")


def is_repo_id(source: str) -> bool:
    return REPO_ID.fullmatch(source) is not None


def fetch(source: str, revision: str | None = None) -> tuple[Path, str]:
    """Download (or find in the local cache) a repo's two files: the folder they are in, and `owner/name@commit`."""
    if revision is not None and not (isinstance(revision, str) and revision):
        raise CheckpointError(f"A revision is a commit, branch or tag, given as text, not {revision!r}.")
    match = REPO_ID.fullmatch(source)
    if match is None:
        raise CheckpointError(f"{source!r} is no Hub repo id; write owner/name or owner/name@revision.")
    if revision and match[2] and revision != match[2]:
        raise CheckpointError(f"{source!r} names one revision and revision={revision!r} another; give only one.")
    repo, revision = match[1], revision or match[2] or "main"
    # Imported here: it takes half a second, and playing from a local folder should not pay for it.
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    folder = Path()
    try:
        for name in (CONFIG, WEIGHTS):
            folder = Path(hf_hub_download(repo, name, revision=revision)).parent
            # Both files must be of one commit even if the branch moves in between: the cache folder is named by it.
            revision = folder.name
            if name == CONFIG:
                read_config(folder / CONFIG)  # before some other program's gigabytes are fetched
    except LocalEntryNotFoundError:
        raise CheckpointError(
            f"{repo}@{revision} is not cached here and the Hub can't be reached; go online once, or use a folder."
        ) from None
    except RepositoryNotFoundError:
        raise CheckpointError(
            f"The Hub has no repo {repo}, or it is private; check the name, or log in with `hf auth login`."
        ) from None
    except RevisionNotFoundError:
        raise CheckpointError(
            f"{repo} has no revision {revision!r}; see the repo's commits for those it has."
        ) from None
    except EntryNotFoundError:
        raise CheckpointError(
            f"{repo}@{revision} has no {name}, so it is no checkpoint of this program; make one with "
            "`python -m alphazero export GAME`."
        ) from None
    except CheckpointError:
        raise
    except Exception as error:  # the client's own kinds of trouble are many: broken transfers, bad redirects, ...
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CheckpointError(f"{repo}@{revision} could not be downloaded ({reason}); try again later.") from None
    return folder, f"{repo}@{revision}"

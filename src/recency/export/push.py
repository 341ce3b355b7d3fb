"""Rule push: upload an exported language model to the Hugging Face Hub, given a token."""

import json
import os
from pathlib import Path

from readingtimes.files import atomic
from recency.errors import InputError

TOKEN = "HF_TOKEN"


def main(folder: str | Path, out: str | Path, *, repository: str, private: bool = True) -> None:
    """Upload `folder` to `repository` (owner/name) as one commit, and write its address to `out`.

    The token of the environment variable HF_TOKEN is used. `out` is JSON: repository, commit, url.
    """
    os.environ.pop("HF_HUB_OFFLINE", None)  # read at the import; jobs other than this are offline
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    if not os.environ.get(TOKEN):
        raise InputError(
            f"{TOKEN} is not set: create a write token at huggingface.co/settings/tokens, and "
            f"set it as an environment variable ({TOKEN}=hf_… ./run …)"
        )
    hub = HfApi(token=os.environ[TOKEN])
    try:
        hub.create_repo(repository, private=private, exist_ok=True)
        commit = hub.upload_folder(
            repo_id=repository, folder_path=folder, commit_message="From recency"
        )
    except (HfHubHTTPError, OSError) as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(f"{repository} could not be written on the Hub: {first}") from error
    with atomic(out) as part:
        record = {"repository": repository, "commit": commit.oid, "url": commit.commit_url}
        part.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{repository} is at {commit.commit_url}")

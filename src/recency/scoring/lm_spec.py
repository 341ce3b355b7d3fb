"""An LM as a job opens it: its files, the bias applied at inference, and how it reads texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recency import embedded
from recency.networks import hub

if TYPE_CHECKING:
    from recency.scoring.surprisal import Model

#: Settings of `LMSpec.weights`.
WEIGHT_KEYS = ("precision", "sha256", "device_map")


@dataclass(frozen=True)
class LMSpec:
    """A language model as a job opens it.

    Attributes
    ----------
    name
        Its key in the config's `lms`.
    model
        A folder, a Hub name, or the file of an n-gram model.
    tokenizer
        The tokenizer's file; None where the model brings its own.
    bias
        The bias applied at inference (an entry of the config's `biases`); None if there is none
        or the model was trained with it.
    bos, stride
        See `recency.scoring.surprisal.score_words`.
    scoring
        Its other settings: `window`, `precision`, `leading_space` …
    lossy
        How context words are erased (recency.scoring.lossy.lossy_settings); None if they are not.
    reader
        Settings of contexts of readers (recency.scoring.lossy.scanpaths); None if there are none.
    allow_pickle
        Whether weights may be read from a pickle.
    weights
        How its weights are opened: `precision`, `sha256`, `device_map` of `recency.load`.
    threads
        Processor threads.
    """

    name: str
    model: str | Path
    tokenizer: str | Path | None = None
    bias: dict | None = None
    bos: bool | str = True
    stride: int | None = None
    scoring: Mapping[str, Any] = field(default_factory=dict)
    allow_pickle: bool = False
    threads: int = 1
    lossy: Mapping[str, Any] | None = None
    reader: Mapping[str, Any] | None = None
    weights: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_job(cls, given: dict[str, Any], threads: int) -> "LMSpec":
        """Remove the param `lm` (`Study.opening`) and the input `model` from a job's arguments.

        `model` is an n-gram model's file, or the files of a network that the workflow trained, with
        the tokenizer in the same folder. The `checkpoint` of `lm`, if it has one, is a folder, a file, or
        a checkpoint of the Hub, of whose fetched files `model` is the list.
        """
        settings, files = dict(given.pop("lm")), given.pop("model", ())
        model, tokenizer = settings.pop("checkpoint", None), None
        if isinstance(files, str):
            model = files
        elif files and model is None:
            model = Path(files[0]).parent
            tokenizer, settings["allow_pickle"] = model / "tokenizer.json", False
        elif lists := [file for file in files if str(file).endswith(hub.SUFFIX)]:
            model = hub.fetched(lists[0])
        else:
            model = embedded.folder(model)
        return cls(model=model, tokenizer=tokenizer, threads=threads, **settings)

    @property
    def files(self) -> list[Path]:
        """The LM's files or folder; empty for a Hub model."""
        if self.tokenizer is not None:
            weights = (Path(self.model) / name for name in ("config.json", "model.safetensors"))
            return [*weights, Path(self.tokenizer)]
        return [Path(self.model)] if Path(self.model).exists() else []

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that surprisal depends on, in addition to `files`."""
        names = ("name", "bias", "bos", "stride", "scoring", "allow_pickle")
        hub = {} if self.files else {"model": str(self.model)}
        lossy = self._contexts
        weights = {"weights": dict(self.weights)} if self.weights else {}
        return {name: getattr(self, name) for name in names} | hub | lossy | weights

    @property
    def reading(self) -> dict[str, Any]:
        """The settings of `score_words`: bos, stride, `scoring`, and parts of contexts."""
        return {"bos": self.bos, "stride": self.stride, **self.scoring, **self._contexts}

    @property
    def _contexts(self) -> dict[str, Any]:
        """The settings of lossy contexts and of those of readers, if any."""
        stated = {"lossy": self.lossy, "reader": self.reader}
        return {name: value for name, value in stated.items() if value is not None}

    def open(self, biased: bool = True) -> "Model":
        """Open the network with its tokenizer, and without the bias if `biased` is false."""
        from recency import processor
        from recency.scoring import surprisal

        processor.use(self.threads)
        bias = self.bias if biased else None
        settings = {"allow_pickle": self.allow_pickle, **self.weights}
        return surprisal.load(self.model, self.tokenizer, bias, **settings)

"""The memory of one recurrent checkpoint, as built by recency.networks.memories.

recency.export.modelling writes this module into the file of an exported checkpoint, after the form
of its memory (`Form`); recency itself never computes with it.
"""

from recency.networks.memories import Memory, State
from recency.networks.memories.rnn import Form


class memories:
    """Stand-in for the package of memories."""

    State = State

    @staticmethod
    def build(spec: dict, inputs: int, width: int, vocabulary: int) -> Memory:
        """Return the memory of this checkpoint's form."""
        parameters = {key: value for key, value in spec.items() if key != "form"}
        return Form(inputs, width, vocabulary, **parameters)

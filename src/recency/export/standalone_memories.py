"""The memory of one recurrent checkpoint by itself, as recency.networks.memories would build it.

recency.export.modelling writes this module into the file that an exported checkpoint brings with it,
behind the form of its memory (`Form`); recency itself never computes with it.
"""

from recency.networks.memories import Memory, State
from recency.networks.memories.rnn import Form


class memories:
    """What the network takes of the package of memories."""

    State = State

    @staticmethod
    def build(spec: dict, inputs: int, width: int, vocabulary: int) -> Memory:
        """Make the memory of this checkpoint's form."""
        parameters = {key: value for key, value in spec.items() if key != "form"}
        return Form(inputs, width, vocabulary, **parameters)

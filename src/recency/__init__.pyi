from crosslmm.likelihood_ratio import anova as anova
from crosslmm.stats.permutation import permutation_test as permutation_test
from recency import attention as attention
from recency.errors import InputError as InputError
from recency.errors import InputWarning as InputWarning
from recency.evaluations.explore.data_frames import explore as explore
from recency.regression.mixed_models import lmer as lmer
from recency.scoring.public import cloze as cloze
from recency.scoring.public import load as load
from recency.scoring.public import next_words as next_words
from recency.scoring.public import surprisal as surprisal

__version__: str

from recency import attention as attention
from recency.errors import InputError as InputError
from recency.evaluations.explore.data_frames import explore as explore
from recency.mixed.likelihood_ratio import anova as anova
from recency.mixed.model import lmer as lmer
from recency.scoring.public import load as load
from recency.scoring.public import surprisal as surprisal
from recency.stats.permutation import permutation_test as permutation_test

__version__: str

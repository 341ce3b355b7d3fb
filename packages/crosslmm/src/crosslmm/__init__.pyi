from crosslmm import stats as stats
from crosslmm.errors import InputError as InputError
from crosslmm.likelihood_ratio import anova as anova
from crosslmm.model import MixedModel as MixedModel
from crosslmm.model import lmer as lmer

__version__: str

from recency.mixed.likelihood_ratio import anova as anova
from recency.mixed.model import MixedModel as MixedModel
from recency.mixed.model import lmer as lmer

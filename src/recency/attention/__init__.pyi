from recency.attention.specification import attach as attach
from recency.attention.specification import bias as bias

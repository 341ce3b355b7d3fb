from recency.stats.bootstrap import interval as interval
from recency.stats.multiple_tests import holm as holm
from recency.stats.permutation import PermutationTest as PermutationTest
from recency.stats.permutation import permutation_test as permutation_test
from recency.stats.proportions import wilson as wilson

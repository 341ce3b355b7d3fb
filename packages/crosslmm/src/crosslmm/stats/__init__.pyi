from crosslmm.stats.bootstrap import interval as interval
from crosslmm.stats.multiple_tests import holm as holm
from crosslmm.stats.permutation import PermutationTest as PermutationTest
from crosslmm.stats.permutation import permutation_test as permutation_test
from crosslmm.stats.proportions import wilson as wilson

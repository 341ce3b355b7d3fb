from readingtimes.errors import InputError as InputError
from readingtimes.errors import InputWarning as InputWarning
from readingtimes.loading import corpora as corpora
from readingtimes.loading import definition as definition
from readingtimes.loading import load as load
from readingtimes.loading import load_fixations as load_fixations

__version__: str

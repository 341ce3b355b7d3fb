from readingtimes.errors import InputError as InputError
from readingtimes.loading import corpora as corpora
from readingtimes.loading import definition as definition
from readingtimes.loading import load as load

__version__: str

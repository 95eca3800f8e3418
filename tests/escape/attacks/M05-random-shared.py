# tries: to foretell the random numbers of another run
# stopped by: worker
# expected: kind is None and len(output.split()) == 3
import random
import uuid

import numpy

print(random.random(), numpy.random.rand(), uuid.uuid4())

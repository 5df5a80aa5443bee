"""What the kernel's tables mean for a destination, scenario by scenario: data, without a word on how it is asked.

A scenario lays out a network and changes it step by step; after each step stands what is to be said of each target.
The tests ask `ringwake reachability`; Tests/lab/reachability asks others too and counts who is wrong.
"""

from .addresses import ADDRESSES
from .links import LINKS
from .model import Scenario
from .routes import ROUTES
from .rules import RULES
from .tunnels import TUNNELS

SCENARIOS: list[Scenario] = [*LINKS, *ROUTES, *RULES, *ADDRESSES, *TUNNELS]

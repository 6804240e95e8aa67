"""Environments served by Reverie, simulated or real, as Gymnasium environments.

    import reverie_client

    env = reverie_client.make("http://127.0.0.1:8000", "pendulum")
    observation, info = env.reset(seed=1)

``make`` and ``make_vec`` need Gymnasium (``pip install reverie-client[gymnasium]``); ``ReverieToolsEnv``, for agents that
call tools, needs nothing but NumPy.
"""

from .connection import Connection, environments
from .env import ReverieEnv, make
from .errors import GymnasiumMissing, ReverieError, ServerUnreachable
from .tools import ReverieToolsEnv, ToolsTurn
from .vector import ReverieVectorEnv, make_vec

__all__ = [
    "Connection",
    "GymnasiumMissing",
    "ReverieEnv",
    "ReverieError",
    "ReverieToolsEnv",
    "ReverieVectorEnv",
    "ServerUnreachable",
    "ToolsTurn",
    "environments",
    "make",
    "make_vec",
]
__version__ = "0.1.0"

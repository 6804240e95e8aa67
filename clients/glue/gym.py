"""Gymnasium: `@ENV@` of the Reverie server at @URL@ as an Env and as a VectorEnv.

    pip install "reverie-client[gymnasium]"      # or, from a checkout of Reverie: pip install "clients/python[gymnasium]"
"""

import reverie_client

URL = "@URL@"
ENV = "@ENV@"

if __name__ == "__main__":
    env = reverie_client.make(URL, env=ENV)
    observation, info = env.reset(seed=0)
    total, done = 0.0, False
    while not done:
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        total += reward
        done = terminated or truncated
    print(f"one random episode: return {total:.3f}")
    env.close()

    many = reverie_client.make_vec(URL, env=ENV, num_envs=16)
    observations, infos = many.reset(seed=0)
    observations, rewards, terminations, truncations, infos = many.step(many.action_space.sample())
    print(f"16 at once: observations {observations.shape}, mean reward {rewards.mean():.3f}")
    many.close()

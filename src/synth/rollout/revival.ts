// Brings frozen models and policies to life in this thread, once per version; the last few stay alive.

import type { Policy, PolicySnapshot } from '../../core/policy.js';
import { unshareBytes } from '../../core/pool-task.js';
import type { ModelPlace, VectorDynamics, WorldModelSnapshot } from '../../worldmodel/dynamics.js';

/** A pool serves one training run, or a few that take turns. */
const KEPT_VERSIONS = 3;

export interface ModelLoaderModule {
  loadWorldModel(snapshot: WorldModelSnapshot, place: ModelPlace): Promise<VectorDynamics>;
}

interface PolicyLoaderModule {
  loadPolicy(payload: unknown): Promise<Policy>;
}

export class Revival {
  private readonly models = new Map<string, Promise<VectorDynamics>>();
  private readonly policies = new Map<string, Promise<Policy>>();

  /** `loader`: URL of a module with a `loadWorldModel`; the world-model room if left out. */
  async model(snapshot: WorldModelSnapshot, loader?: string, place: ModelPlace = {}): Promise<VectorDynamics> {
    const key = `${loader ?? ''} ${snapshot.modelVersion}`;
    const revive = async () => {
      const module: ModelLoaderModule = loader ? await import(loader) : await import('../../worldmodel/kinds.js');
      return module.loadWorldModel(unshareBytes(snapshot), place);
    };
    const model = await remember(this.models, key, revive);
    await forgetOldest(this.models, (old) => old.close());
    return model;
  }

  async policy(snapshot: PolicySnapshot): Promise<Policy> {
    const revive = async () => {
      const module: PolicyLoaderModule = await import(snapshot.loader);
      return module.loadPolicy(unshareBytes(snapshot.payload));
    };
    const policy = await remember(this.policies, `${snapshot.loader} ${snapshot.version}`, revive);
    await forgetOldest(this.policies);
    return policy;
  }

  async close(): Promise<void> {
    const models = [...this.models.values()];
    this.models.clear();
    this.policies.clear();
    await Promise.all(models.map(async (model) => (await model).close()));
  }
}

/** The value of `key`, made if need be, and moved to the young end of the map. A failure is not remembered. */
async function remember<T>(alive: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const value = alive.get(key) ?? make();
  alive.delete(key);
  alive.set(key, value);
  try {
    return await value;
  } catch (error) {
    alive.delete(key);
    throw error;
  }
}

async function forgetOldest<T>(alive: Map<string, Promise<T>>, close?: (old: T) => Promise<void>): Promise<void> {
  for (const [key, value] of alive) {
    if (alive.size <= KEPT_VERSIONS) return;
    alive.delete(key);
    await close?.(await value);
  }
}

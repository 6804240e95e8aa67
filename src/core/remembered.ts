// What is worked out of an object, once.

export function remembered<K extends object, V>(memory: WeakMap<K, V>, key: K, make: () => V): V {
  const before = memory.get(key);
  if (before !== undefined) return before;
  const value = make();
  memory.set(key, value);
  return value;
}

/** As `remembered`, of objects that cannot change any more; of others nothing is kept. */
export function rememberedIfFrozen<K extends object, V>(memory: WeakMap<K, V>, key: K, make: () => V): V {
  return Object.isFrozen(key) ? remembered(memory, key, make) : make();
}

// Work on many things with a few at a time; results in the order of the things.

/**
 * Rejects with the first failure in time, once nothing runs any more. `onFailure` is told of it at once, so that what runs can be
 * stopped: what fails for that reason is not the first.
 */
export async function concurrently<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
  onFailure?: () => void,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  let failure: { readonly reason: unknown } | undefined;
  const worker = async (): Promise<void> => {
    while (next < items.length && failure === undefined) {
      const index = next++;
      try {
        results[index] = await work(items[index], index);
      } catch (reason) {
        failure ??= { reason };
        onFailure?.();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failure !== undefined) throw failure.reason;
  return results;
}

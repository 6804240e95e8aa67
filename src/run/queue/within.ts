// Waiting that has an end: for brokers that may be away when a process is to end.

/** Resolves when `work` is over, however it ended, or after `ms`. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), patience]);
  clearTimeout(timer);
}

// Sessions with one server, lent to whoever lives an episode there: a few at a time, each for one episode after the other.

import type { RemoteToolsEnvironment } from '../../../../../env/index.js';

const SESSIONS = 8;

export class ServedSessions {
  private readonly all: RemoteToolsEnvironment[];
  private readonly free: RemoteToolsEnvironment[];
  private readonly waiting: (() => void)[] = [];
  private lent = 0;

  /** @param first  closed with the others */
  constructor(
    first: RemoteToolsEnvironment,
    private readonly more: () => Promise<RemoteToolsEnvironment>,
  ) {
    this.all = [first];
    this.free = [first];
  }

  /** Throws what `work` throws, and what opening a session does. */
  async use<T>(work: (remote: RemoteToolsEnvironment) => Promise<T>): Promise<T> {
    while (this.lent >= SESSIONS) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.lent++;
    let remote = this.free.pop();
    try {
      remote ??= await this.opened();
      return await work(remote);
    } finally {
      if (remote !== undefined) this.free.push(remote);
      this.lent--;
      this.waiting.shift()?.();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((remote) => remote.close()));
  }

  private async opened(): Promise<RemoteToolsEnvironment> {
    const remote = await this.more();
    this.all.push(remote);
    return remote;
  }
}

// Servers of other protocols than OpenEnv: what is found, and what cannot be said and why.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, validateUrl } from '../../../src/serve/index.js';
import { serveScenarios } from '../running-server.js';

const LIGHT = { steps: 4, tasks: 2 };
describe('a server of ours, over each protocol', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await serveScenarios(['cellar'], { real: true });
  });
  afterAll(() => server.stop(0));

  it.each([
    ['ors', ''],
    ['mcp', '/mcp/cellar'],
  ])('is sound by %s', async (protocol, path) => {
    const report = await validateUrl(`${server.url}${path}`, { ...LIGHT, protocol });
    expect(report.checks.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(report.checks[0]).toMatchObject({ name: 'described', status: 'passed' });
  });

  it('is refused where the protocol is none', async () => {
    await expect(validateUrl(server.url, { protocol: 'gopher' })).rejects.toMatchObject({ code: 'FLAG_INVALID' });
  });
});

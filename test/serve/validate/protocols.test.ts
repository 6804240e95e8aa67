// Servers of other protocols than OpenEnv: which it is, what is found, and what cannot be said and why.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, type ValidationReport, validateUrl } from '../../../src/serve/index.js';
import { protocolOf } from '../../../src/serve/validate/protocol-of.js';
import { serverAt } from '../../../src/serve/validate/server-client.js';
import { serveScenarios } from '../running-server.js';
import { type GymDefect, toyAgentGym } from './toy-agentgym.js';

const LIGHT = { steps: 4, tasks: 2 };
const named = ({ checks }: ValidationReport, status: string) =>
  checks.filter((check) => check.status === status).map(({ name }) => name);

async function gym(...defects: GymDefect[]): Promise<ValidationReport> {
  const server = await toyAgentGym(defects);
  try {
    return await validateUrl(server.url, LIGHT);
  } finally {
    await server.stop();
  }
}

describe('a server of AgentGym', () => {
  it('passes where it is sound, and says what nobody can tell', async () => {
    const report = await gym();
    expect(named(report, 'failed')).toEqual([]);
    expect(named(report, 'passed')).toEqual(
      expect.arrayContaining([
        'described',
        'rewards',
        'determinism',
        'isolation',
        'replay',
        'seeds-under-load',
        'threads',
      ]),
    );
    const details = Object.fromEntries(report.checks.map(({ name, detail }) => [name, detail]));
    expect(details['seed-control']).toMatch(/AgentGym has no seeds/);
    expect(details['slots']).toMatch(/no sign/);
    expect(details['state']).toMatch(/tells no state/);
  });

  it.each<[GymDefect, string]>([
    ['shared-count', 'isolation'],
    ['shared-count', 'threads'],
    ['remembers', 'replay'],
    ['reward-text', 'rewards'],
    ['no-items', 'declarations'],
  ])('%s: %s', async (defect, check) => {
    expect(named(await gym(defect), 'failed')).toContain(check);
  });

  it('that draws by itself has done nothing wrong, where there are no seeds', async () => {
    const report = await gym('draws');
    expect(named(report, 'failed')).toEqual([]);
    const told = report.checks.find(({ name }) => name === 'determinism');
    expect(told).toMatchObject({ status: 'not-checked', detail: expect.stringContaining('draws by itself') });
  });
});

describe('a server of ours, over each protocol', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await serveScenarios(['cellar'], { real: true });
  });
  afterAll(() => server.stop(0));

  it.each([
    ['openenv', '/envs/cellar'],
    ['mcp', '/mcp/cellar'],
    ['agentgym', '/agentgym/cellar'],
  ])('is known to speak %s', async (protocol, path) => {
    expect(await protocolOf(serverAt(`${server.url}${path}`))).toBe(protocol);
  });

  it.each([
    ['ors', ''],
    ['mcp', '/mcp/cellar'],
    ['agentgym', '/agentgym/cellar'],
  ])('is sound by %s', async (protocol, path) => {
    const report = await validateUrl(`${server.url}${path}`, { ...LIGHT, protocol });
    expect(report.checks.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(report.checks[0]).toMatchObject({ name: 'described', status: 'passed' });
  });

  it('is refused where the protocol is none', async () => {
    await expect(validateUrl(server.url, { protocol: 'gopher' })).rejects.toMatchObject({ code: 'FLAG_INVALID' });
  });
});

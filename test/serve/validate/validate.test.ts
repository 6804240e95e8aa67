import { describe, expect, it } from 'vitest';
import { loadAnyScenario } from '../../../src/run/scenario.js';
import { type ValidationReport, validateScenario, validateUrl, validationText } from '../../../src/serve/index.js';
import { commandHere } from '../../e2e/reverie.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { type Defect, PLANTED, type ToyOptions, toyServer } from './toy-server.js';

const LIGHT = { steps: 5, tasks: 2 };

const folder = temporaryFolder('validate');

const named = ({ checks }: ValidationReport, status: string) => {
  return checks.filter((check) => check.status === status).map(({ name }) => name);
};

async function toy(defects: readonly Defect[], options: ToyOptions = {}): Promise<ValidationReport> {
  const server = await toyServer(defects, options);
  try {
    return await validateUrl(server.url, LIGHT);
  } finally {
    await server.stop();
  }
}

describe('a sound server of somebody else', () => {
  it('passes', async () => {
    const report = await toy([]);
    expect(validationText(report)).toMatch(/: sound\n/);
    expect(named(report, 'failed')).toEqual([]);
    expect(named(report, 'not-checked')).toEqual([]);
  });

  it('passes without tasks', async () => {
    const report = await toy([], { tasks: false });
    expect(named(report, 'failed')).toEqual([]);
    expect(named(report, 'not-checked')).toContain('floor-gap');
  });
});

it('a server of few connections has them all again for the next check', async () => {
  expect(named(await toy([], { connections: 4 }), 'failed')).toEqual(['concurrency']);
});

describe('a defect is found by the check for it', () => {
  it.concurrent.each<[Defect, string, ToyOptions?]>(PLANTED)('%s: %s', async (defect, check, options) => {
    const report = await toy([defect], options);
    expect(report.passed).toBe(false);
    expect(named(report, 'failed')).toContain(check);
  });
});

describe('scenarios', () => {
  it.each(['helpdesk', 'pendulum'])('%s is sound', async (name) => {
    const report = await validateScenario(await loadAnyScenario(name), { ...LIGHT, tasks: 1, folder });
    expect(validationText(report)).toMatch(new RegExp(`^${name}: sound`));
    expect(named(report, 'not-checked')).toEqual(name === 'helpdesk' ? [] : ['floor-gap']);
  });
});

describe('reverie validate', () => {
  const run = (...args: string[]) => commandHere(['validate', ...args]);

  it('answers exit code 0 for a sound server and 1 for another, a line a check or JSON', async () => {
    const [good, bad] = [await toyServer([]), await toyServer(['pays-for-nothing'])];
    try {
      const passed = await run(good.url, '--steps', '6');
      expect(passed.code).toBe(0);
      expect(passed.stdout.trim().split('\n')).toHaveLength(10);
      const failed = await run(bad.url, '--steps', '6', '--json');
      expect(failed.code).toBe(1);
      const { checks } = JSON.parse(failed.stdout);
      expect(checks.find(({ name }: { name: string }) => name === 'floor-gap')).toMatchObject({
        status: 'failed',
        detail: expect.stringMatching(/^doing nothing earns 1 of 1/),
      });
    } finally {
      await good.stop();
      await bad.stop();
    }
  });

  it('says where nobody answers, and what is no flag', async () => {
    const nobody = await run('http://127.0.0.1:1');
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining('SERVER_UNREACHABLE') });
    expect((await run('http://127.0.0.1:1', '--reward-range', '1')).code).toBe(2);
    expect((await run('no-such-scenario')).code).toBe(1);
  });
});

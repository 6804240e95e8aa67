import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../src/serve/index.js';
import type { AnswerView, ChangeView, TurnView } from '../../../src/serve/page/wire.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { ask, serveScenarios } from '../running-server.js';
import { makeRuns } from './runs-fixture.js';
import { SessionClient, unlockAccount } from './session-client.js';
import { tokenOf } from './token-entry.js';

let server: RunningServer;
let root: string;
const api = async (path: string) => {
  const { status, body } = await ask(`${server.url}/web/api/${path}`);
  if (status !== 200) throw Object.assign(new Error(body.error.message), body.error);
  return body;
};
const refusal = (path: string) =>
  api(path).then(
    () => 'none',
    (error: { code: string }) => error.code,
  );

beforeAll(async () => {
  root = await makeRuns();
  server = await serveScenarios(['helpdesk', 'pendulum'], { runs: root });
}, 180_000);
afterAll(() => server.stop(0));

it('what is live is told as it happens, and who answered', async () => {
  const client = await SessionClient.open(server.url, 'helpdesk', { task: 'unlock-after-holiday', seed: 1 });
  const stream = await eventsOf(`${server.url}/web/api/live/events`);
  expect((await stream.next()).sessions[0]).toMatchObject({ id: client.id, status: 'running', stepCount: 0 });
  await unlockAccount(client);
  const told = await stream.until((live) => live.sessions[0].status === 'done');
  expect(told.sessions[0]).toMatchObject({
    stepCount: 6,
    return: 1,
    source: 'real',
  });
  expect(told.environments).toMatchObject([{ episodes: 1, steps: 6, answered: { rules: 4, user: 2 } }, { steps: 0 }]);
  await ask(client.url, undefined, 'DELETE');
  await stream.until((live) => live.counts.open === 0);
  await stream.end();
});

describe('the episode of a session', () => {
  it('has its conversation, and each change of the state with what was before', async () => {
    const client = await SessionClient.open(server.url, 'helpdesk', { task: 'unlock-after-holiday', seed: 1 });
    await unlockAccount(client);
    const episode = await api(`sessions/${client.id}`);
    expect(episode).toMatchObject({ family: 'tools', task: 'unlock-after-holiday', return: 1, notes: [] });
    expect(episode.verdict.checks.length).toBeGreaterThan(0);
    const unlock = episode.turns[4] as TurnView;
    expect(unlock.messages.map(({ role }) => role)).toEqual(['assistant', 'tool']);
    expect(unlock.answers[0]).toMatchObject({ tool: 'restore_access', backend: 'rules', confidence: 1 });
    const changes = (unlock.answers[0] as AnswerView).changes as ChangeView[];
    expect(changes).toContainEqual(expect.objectContaining({ op: 'replace', after: 'active' }));
  });

  it('is known whole after a step back and in a fork', async () => {
    const client = await SessionClient.open(server.url, 'helpdesk', { task: 'unlock-after-holiday', seed: 1 });
    await client.say('Please tell me your employee number and badge number.');
    const { id: snapshot } = await client.post('snapshot');
    await client.call('get_employee', { employee_id: 'EMP-1042' });
    await client.post('restore', { snapshot });
    expect((await api(`sessions/${client.id}`)).turns.map(({ step }: TurnView) => step)).toEqual([0, 1]);
    const { sessions } = await client.post('fork', { count: 1 });
    const fork = await api(`sessions/${sessions[0].id}`);
    expect(fork).toMatchObject({ parent: `local/${client.id}`, notes: [] });
    expect(fork.turns.map(({ step }: TurnView) => step)).toEqual([0, 1]);
  });
});

describe('runs', () => {
  it('are listed with what they hold', async () => {
    const { runs } = await api('runs');
    expect(runs.map(({ path, job, status }: Record<string, string>) => [path, job, status])).toEqual([
      ['swing', 'train', 'finished'],
      ['desk', 'synth', 'finished'],
    ]);
    expect(runs[1]).toMatchObject({ report: 'desk/report.html' });
  });

  it('have reports that can do nothing', async () => {
    const reply = await fetch(`${server.url}/web/api/report?path=desk/report.html`);
    expect(reply.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'/);
    expect(await reply.text()).toContain('<!doctype html>');
  });

  it('never lead out of their folder', async () => {
    const outside = temporaryFolder('page-outside');
    writeFileSync(join(outside, 'report.html'), 'secret');
    copyFileSync(join(root, 'desk/run.json'), join(outside, 'run.json'));
    symlinkSync(outside, join(root, 'linked'));
    for (const path of ['..', '../..', '/etc', 'desk/../..', 'linked', 'linked/report.html', 'desk\0']) {
      expect(await refusal(`report?path=${encodeURIComponent(path)}`), path).toBe('RUN_PATH_REFUSED');
    }
    for (const path of ['desk/run.json', 'nowhere']) expect(await refusal(`report?path=${path}`)).toBe('RUN_NOT_FOUND');
    expect(JSON.stringify(await api('runs'))).not.toContain('linked');
  });

  it('are not shown where no folder is given', async () => {
    const bare = await serveScenarios(['pendulum']);
    expect((await ask(`${bare.url}/web/api/runs`)).body).toEqual({ root: null, runs: [] });
    expect((await ask(`${bare.url}/web/api/report?path=x`)).body.error.code).toBe('RUNS_NOT_SHOWN');
    await bare.stop(0);
    await expect(serveScenarios(['pendulum'], { runs: join(root, 'nowhere') })).rejects.toThrow('nowhere');
  });
});

it('users who are not operators see nothing of it', async () => {
  const tokens = [tokenOf('trainer', false), tokenOf('boss', true)];
  const guarded = await serveScenarios(['pendulum'], { tokens, runs: root });
  const status = async (path: string, token?: string) => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return (await fetch(`${guarded.url}/web/${path}`, { headers })).status;
  };
  for (const path of ['api/live', 'api/runs', 'api/report?path=desk/report.html', 'api/environments']) {
    expect([await status(path), await status(path, 'trainer'), await status(path, 'boss')]).toEqual([401, 403, 200]);
  }
  await guarded.stop(0);
});

/** Events of a stream, one after the other. */
async function eventsOf(url: string) {
  const stop = new AbortController();
  const reply = await fetch(url, { signal: stop.signal });
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async () => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const data = text.slice(0, end).split('data: ')[1];
        text = text.slice(end + 2);
        return JSON.parse(data);
      }
      const { value, done } = await reader.read();
      if (done) throw new Error('the stream ended');
      text += value;
    }
  };
  return {
    next,
    // biome-ignore lint/suspicious/noExplicitAny: what came over the wire
    until: async (isIt: (event: any) => boolean) => {
      for (;;) {
        const event = await next();
        if (isIt(event)) return event;
      }
    },
    end: async () => stop.abort(),
  };
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeLog, type RunningServer } from '../../../src/serve/index.js';
import { recordingStream } from '../../run/streams.js';
import { postJson, send } from '../attacks/raw-client.js';
import { serveScenarios } from '../running-server.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('the log', () => {
  const log = recordingStream();
  let server: RunningServer;
  beforeAll(async () => {
    server = await serveScenarios(['pendulum'], { logger: makeLog({ to: log, level: 'info' }) });
  });
  afterAll(() => server.stop(0));

  const lines = () =>
    log
      .text()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('has a line for each request, with the trace that came with it', async () => {
    const { headers, body } = await postJson(`${server.url}/v1/sessions/none/reset?x=1`, {}, { 'x-request-id': TRACE });
    expect([headers['x-request-id'], body.error.trace]).toEqual([TRACE, TRACE]);
    expect(lines().at(-1)).toMatchObject({
      level: 'info',
      msg: 'request',
      trace: TRACE,
      method: 'POST',
      path: '/v1/sessions/none/reset',
      owner: 'local',
      status: 404,
      code: 'SESSION_UNKNOWN',
      ms: expect.any(Number),
    });
  });

  it('takes an id of the caller where it is one, and makes one up elsewhere', async () => {
    const idFor = async (given: string) =>
      (await send(`${server.url}/v1/environments`, { headers: { 'x-request-id': given } })).headers['x-request-id'];
    expect(await idFor('my-id.7')).toBe('my-id.7');
    for (const odd of ['{"a":1}', 'a b', 'x'.repeat(200), '<script>'])
      expect(await idFor(odd)).toMatch(/^[\w-]{12}-[0-9a-z]+$/);
  });
});

it('is for people at a terminal, a line each', () => {
  const stream = recordingStream();
  const logger = makeLog({ to: stream, level: 'info', pretty: true });
  logger.debug('unseen');
  logger.info({ path: '/v1', status: 200 }, 'request');
  logger.error({ err: new Error('broken') }, 'failed');
  expect(stream.text()).toMatch(
    /^\d\d:\d\d:\d\d info request path=\/v1 status=200\n\d\d:\d\d:\d\d error failed\nError: broken\n {4}at /,
  );
});

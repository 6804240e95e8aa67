// The seed filter: what a log may not be, by rules; and that good logs are left alone.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/core/canonical-json.js';
import { makeDomain } from '../../../src/env/tools/domains.js';
import type { Message } from '../../../src/env/tools/message.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { readEpisodeLogs } from '../../../src/replay/experience/logs/read-episode-logs.js';
import { seedFault } from '../../../src/synth/tasks/seed-filter.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { shop } from './shop.js';

const domain = shop();
const DATA = process.env.REVERIE_SHARED_DATA ?? '../shared/data';

const user = (content: string): Message => ({ role: 'user', content });
const says = (content: string): Message => ({ role: 'assistant', content });
const calls = (id: string, name: string, given: Json): Message => ({
  role: 'assistant',
  content: null,
  toolCalls: [{ id, name, arguments: given as never }],
});
const answers = (id: string, name: string, content: string): Message => ({
  role: 'tool',
  toolCallId: id,
  name,
  content,
});

const ORDER = JSON.stringify((domain.initialState.orders as Record<string, Json>)['ORD-2000']);
const look = [calls('a', 'get_order', { order_id: 'ORD-2000' }), answers('a', 'get_order', ORDER)];
const GOOD = [user('Where is it?'), ...look, says('On its way.')];

function episode(messages: readonly Message[], task = 'cancel-lamp'): EpisodeRecord {
  return { id: 'e', task, messages, steps: [], verdict: { reward: 1, checks: [] } } as unknown as EpisodeRecord;
}

function faults(messages: readonly Message[]): string[] {
  return [seedFault(episode(messages), domain) ?? []].flat();
}

describe('rules', () => {
  it('keep a good log, ended by the agent, the user, or a tool', () => {
    expect(faults(GOOD)).toEqual([]);
    expect(faults([...GOOD, user('Thanks.')])).toEqual([]);
    const over = [calls('b', 'hand_over', { summary: 's' }), answers('b', 'hand_over', '"handed over"')];
    expect(faults([...GOOD.slice(0, 3), ...over])).toEqual([]);
  });

  it.each<[reason: string, messages: Message[]]>([
    ['no user', [says('Hello.')]],
    ['begins with a call without its answer', [user('a'), answers('x', 'get_order', '{}'), says('b')]],
    ['ids of calls made unique', [...GOOD, ...look, says('b')]],
    [
      'begins with a call that does not fit its schema',
      [user('a'), calls('a', 'fly', {}), answers('a', 'fly', ''), says('b')],
    ],
    ['begins with a call without its answer', [user('a'), look[0], says('b')]],
    ['it stops in the middle', [user('a'), ...look]],
  ])('refuse what is at fault: %s', (reason, messages) => {
    expect(faults(messages)).toEqual([reason]);
  });
});

describe('recorded logs', () => {
  const folder = join(DATA, 'tau', 'airline');
  it.skipIf(!existsSync(folder))('of τ-bench airline are kept, but for those that stop in the middle', async () => {
    const airline = await makeDomain({ id: 'tau-airline', data: folder, release: 'tau1' });
    const few = join(temporaryFolder('seeds'), 'few.jsonl');
    const lines = readFileSync(join(folder, 'trajectories-gpt-4o.jsonl'), 'utf8').split('\n');
    writeFileSync(few, lines.slice(14, 30).join('\n'));
    const { episodes: some } = await readEpisodeLogs(few, { domain: airline, tolerant: true });
    expect(some.filter((each) => seedFault(each, airline) !== undefined)).toHaveLength(1);
  });
});

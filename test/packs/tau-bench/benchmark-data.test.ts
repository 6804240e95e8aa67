// The rules against the benchmark's own data and recordings, which are no part of this project. They lie in the folder
// REVERIE_SHARED_DATA, by default ../shared/data next to the repository; docs/tau-bench.md tells the numbers found here.

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { loadTauDomain, type TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import { compileSchema, stateHash } from '../../../src/env/state/state.js';
import type { ToolsDomain, ToolsTask } from '../../../src/env/tools/domain.js';
import type { Message, ToolCall } from '../../../src/env/tools/message.js';
import { verifyEpisode } from '../../../src/env/tools/verify-episode.js';
import { readEpisodeLogs } from '../../../src/replay/experience/logs/read-episode-logs.js';

const data = process.env.REVERIE_SHARED_DATA ?? fileURLToPath(new URL('../../../../shared/data', import.meta.url));
const folder = path.join(data, 'tau');
const documentation = readFileSync(new URL('../../../docs/tau-bench.md', import.meta.url), 'utf8');

type Call = Omit<ToolCall, 'id'>;

interface Trajectory {
  readonly id: string;
  readonly taskId: string;
  readonly reward: number;
  readonly messages: readonly Message[];
  /** What it was judged by at the time: calls whose end state was compared, texts the agent had to say. */
  readonly reference: { readonly calls: readonly Call[]; readonly communicate: readonly string[] };
}

async function readTrajectories(file: string): Promise<Trajectory[]> {
  const { episodes } = await readEpisodeLogs(file);
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line, i) => {
    const { task_id, trial, reward, info } = JSON.parse(line);
    const calls = info.task.actions.map(({ name, kwargs }: { name: string; kwargs: JsonObject }) => ({
      ...{ name, arguments: kwargs },
    }));
    const reference = { calls, communicate: info.task.outputs };
    return { id: `${task_id}/${trial}`, taskId: String(task_id), reward, messages: episodes[i].messages, reference };
  });
}

/** What calls lead to, each answer judged by the invariants. */
function play(domain: ToolsDomain, calls: readonly Call[], start: JsonObject = domain.initialState) {
  const { rules } = domain;
  let state = start;
  const faults: string[] = [];
  const errors: string[] = [];
  for (const call of calls) {
    const { operations, isError, observation } = rules!.execute(state, { ...call, id: 'c' });
    const after = applyOperations(state, operations);
    faults.push(...rules!.invariants(state, after));
    if (isError) errors.push(`${call.name}: ${observation}`);
    state = after;
  }
  return { state, faults, errors };
}

function verdictOf(domain: ToolsDomain, task: ToolsTask, finalState: JsonObject, said?: string) {
  const messages: Message[] = said === undefined ? [] : [{ role: 'assistant', content: said }];
  return verifyEpisode(domain, task, { initialState: domain.initialState, finalState, messages });
}

describe.skipIf(!existsSync(folder))('τ-bench data (skipped without REVERIE_SHARED_DATA)', () => {
  const domains = new Map<TauDomainName, ToolsDomain>();
  async function successor(domain: TauDomainName): Promise<ToolsDomain> {
    const loaded = domains.get(domain) ?? (await loadTauDomain({ domain, folder: path.join(folder, domain) }));
    domains.set(domain, loaded);
    return loaded;
  }

  test.each([
    ['airline', 30, 30, 13, 0],
    ['retail', 74, 45, 67, 13],
  ] as const)(
    '%s: the reference calls of all %d tasks earn the full reward',
    async (name, count, byRules, changing, refused) => {
      const domain = await successor(name);
      const outcomes = domain.tasks.map((task) => {
        const { state, faults, errors } = play(domain, task.reference!.calls);
        const verdict = verdictOf(domain, task, state, task.reference!.say);
        const failed = verdict.checks.filter(({ passed }) => passed === false).map((check) => check.reason);
        const needsJudge = task.verifier.rubric !== undefined;
        const doesNothing = verdictOf(domain, task, domain.initialState, task.reference!.say).reward;
        return {
          reward: verdict.reward,
          needsJudge,
          failed,
          faults,
          errors,
          doesNothing,
          changes: task.failures !== undefined,
        };
      });
      expect(outcomes).toHaveLength(count);
      for (const { reward, needsJudge, failed, faults, doesNothing, changes } of outcomes) {
        expect({ reward, failed, faults }).toEqual({ reward: needsJudge ? null : 1, failed: [], faults: [] });
        if (changes) expect(doesNothing).toBe(0);
      }
      expect(outcomes.filter(({ needsJudge }) => !needsJudge)).toHaveLength(byRules);
      expect(outcomes.filter(({ changes }) => changes)).toHaveLength(changing);
      expect(outcomes.flatMap(({ errors }) => errors)).toHaveLength(refused);
      expect(documentation).toContain(
        `| ${name} | ${count} | ${byRules} | ${count - byRules} | ${changing} | ${refused} |`,
      );
    },
  );

  test.each(['airline', 'retail'] as const)('%s: the database fits the schema of states', async (name) => {
    const { stateSchema, initialState } = await successor(name);
    const check = compileSchema(stateSchema, 'state');
    expect(check(initialState)).toEqual([]);
    const broken = { ...initialState, users: { ...(initialState.users as object), x: { name: 1 } } } as JsonObject;
    expect(check(broken).length).toBeGreaterThan(0);
  });

  describe('120 recorded airline trajectories of the first release', () => {
    async function recordings() {
      const at = path.join(folder, 'airline');
      const domain = await loadTauDomain({ domain: 'airline', folder: at, release: 'tau1' });
      return { domain, trajectories: await readTrajectories(path.join(at, 'trajectories-gpt-4o.jsonl')) };
    }

    test('every tool result is the same to the byte, but for what the data call "state"', async () => {
      const { domain, trajectories } = await recordings();
      const found = trajectories.flatMap((trajectory) => differences(domain, trajectory));
      const other = found.filter(({ tool, ours, recorded }) => {
        const renamed = ours.replace('"country": "USA", "state": ', '"country": "USA", "province": ');
        return tool !== 'get_user_details' || renamed !== recorded;
      });
      const all = trajectories.flatMap(({ messages }) => messages.filter(({ role }) => role === 'tool'));
      expect(other).toEqual([]);
      expect([trajectories.length, all.length, found.length]).toEqual([120, 711, 72]);
      expect(documentation).toContain(`| Tool results | ${all.length} |`);
      expect(documentation).toContain(`| Equal to the byte | ${all.length - found.length} |`);
      expect(documentation).toContain(`| \`get_user_details\`: "state" was "province" | ${found.length} |`);
    });

    test('every recorded reward is earned again', async () => {
      const { domain, trajectories } = await recordings();
      const wanted = new Map<string, string>();
      const wrong = trajectories.filter((trajectory) => {
        const { calls } = trajectory.reference;
        const want = wanted.get(trajectory.taskId) ?? stateHash(play(domain, calls).state);
        wanted.set(trajectory.taskId, want);
        return rewardOf(domain, trajectory, want) !== trajectory.reward;
      });
      expect(wrong.map(({ id }) => id)).toEqual([]);
      expect(documentation).toContain(`| Rewards earned again | ${trajectories.length} of 120 |`);
    });
  });
});

function differences(domain: ToolsDomain, { messages }: Trajectory) {
  const calls = new Map<string, ToolCall>();
  let state = domain.initialState;
  const found: { tool: string; ours: string; recorded: string }[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') for (const call of message.toolCalls ?? []) calls.set(call.id, call);
    if (message.role !== 'tool') continue;
    const { operations, observation } = domain.rules!.execute(state, calls.get(message.toolCallId)!);
    state = applyOperations(state, operations);
    if (observation !== message.content) {
      found.push({ tool: message.name, ours: observation, recorded: message.content });
    }
  }
  return found;
}

/** As the first release's envs/base.py: only an episode that came to its end can earn anything. */
function rewardOf(domain: ToolsDomain, { messages, reference }: Trajectory, wanted: string): number {
  const spoken = messages.flatMap((message) =>
    message.role === 'assistant' && message.toolCalls === undefined ? [message.content ?? ''] : [],
  );
  const isTold = reference.communicate.every((text) =>
    spoken.some((said) => said.toLowerCase().replaceAll(',', '').includes(text.toLowerCase())),
  );
  const last = messages[messages.length - 1];
  const hasEnded =
    last.role === 'tool' ? last.name === 'transfer_to_human_agents' : (last.content ?? '').includes('###STOP###');
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  return hasEnded && isTold && stateHash(play(domain, calls).state) === wanted ? 1 : 0;
}

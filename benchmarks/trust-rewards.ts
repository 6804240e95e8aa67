// Rewards of planted episodes. Planted ones (trust/rewards.yaml) are run in six domains by their exact rules, judged, and put through
// the filters of datasets: wrong, lucky, incomplete and policy-breaking ones may neither be paid nor imitated, right ones in other words or
// in another order must be. `raw` names each that was not, and how verdicts on GPT-4o's recorded airline conversations agree with
// τ-bench's own. Needs REVERIE_SHARED_DATA, the folder of τ-bench's data.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { JsonObject } from '../src/core/canonical-json.js';
import { NO_COST } from '../src/core/cost.js';
import { wilson } from '../src/core/statistics.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { CallSpec, ToolsDomain, ToolsTask, VerifierSpec } from '../src/env/tools/domain.js';
import { makeDomain } from '../src/env/tools/domains.js';
import { loadDomain } from '../src/env/tools/load-domain.js';
import { callsOf } from '../src/env/tools/message.js';
import { rulesResponder } from '../src/env/tools/rules-responder.js';
import { ToolsEpisodeEnvironment } from '../src/env/tools/tools-environment.js';
import type { ToolsAction, ToolsPolicy, UserSimulator } from '../src/env/tools/tools-family.js';
import { verifyEpisode } from '../src/env/tools/verify-episode.js';
import { readEpisodeLogs } from '../src/replay/experience/logs/read-episode-logs.js';
import { planRow, runEpisode } from '../src/synth/episodes/run-episode.js';
import { qualitySchema } from '../src/synth/quality/quality-config.js';
import { QualityPipeline, whyNotImitated } from '../src/synth/quality/quality-pipeline.js';
import { defectOf } from '../src/synth/tasks/lint-tasks.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';

type Turn = number | { readonly call: CallSpec } | { readonly ask: string; readonly answer: string };

interface Planted {
  readonly task: string;
  readonly kind: string;
  readonly worth: number | null;
  readonly turns: readonly Turn[];
  readonly say?: string;
  readonly source?: string;
}

interface PlantedDomain {
  readonly declared?: Partial<VerifierSpec>;
  readonly episodes: readonly Planted[];
}

/** The domain of planted cases by its name: a pack, one of τ-bench's, or a small one beside them. */
export async function plantedDomain(name: string, root: string): Promise<ToolsDomain> {
  const shared = process.env['REVERIE_SHARED_DATA'];
  if (!name.startsWith('tau-'))
    return ['helpdesk', 'cellar'].includes(name)
      ? makeDomain({ id: name })
      : loadDomain(join(root, 'benchmarks/trust/domains', name));
  if (shared === undefined) throw new Error('REVERIE_SHARED_DATA names no folder of the data of τ-bench');
  return makeDomain({ id: name, data: join(shared, 'tau', name.slice('tau-'.length)) });
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const file = readFileSync(join(root, 'benchmarks/trust/rewards.yaml'), 'utf8');
  const planted = Object.entries(parse(file) as Record<string, PlantedDomain>);
  const misses: Record<string, unknown>[] = [];
  const byKind: Record<string, { planted: number; right: number }> = {};
  let [right, imitatedWrong, n] = [0, 0, 0];
  for (const [name, { declared, episodes }] of quick ? planted.slice(0, 1) : planted) {
    const domain = await plantedDomain(name, root);
    for (const [i, episode] of episodes.entries()) {
      const found = await played(domain, declared, episode, i);
      const isRight = found.reward === episode.worth;
      const isWrongImitated = episode.worth !== 1 && found.imitated;
      const tally = byKind[episode.kind] ?? { planted: 0, right: 0 };
      byKind[episode.kind] = tally;
      tally.planted++;
      n++;
      if (isRight) {
        right++;
        tally.right++;
      }
      if (isWrongImitated) imitatedWrong++;
      if (!isRight || isWrongImitated) misses.push({ domain: name, ...episode, ...found });
      if (!isRight)
        log(`${name} ${episode.task}, ${episode.kind}: ${found.reward} in place of ${episode.worth} (${found.why})`);
    }
    domain.close();
    log(`${name}: ${n} episodes so far, ${misses.length} missed`);
  }
  const recorded = quick ? undefined : await recordedConversations();
  const raw = { planted: n, domains: planted.length, byKind, imitatedWrong, misses, recorded };
  const { value, low, high } = wilson(right, n);
  return { value: value ?? 0, low, high, n, raw };
}

async function played(
  given: ToolsDomain,
  declared: Partial<VerifierSpec> | undefined,
  { task: id, turns, say }: Planted,
  row: number,
) {
  const known = given.tasks.find((one) => one.id === id);
  if (known === undefined) throw new Error(`the domain ${given.id} has no task "${id}"`);
  const task: ToolsTask = { ...known, split: 'train', verifier: { ...known.verifier, ...declared } };
  const domain: ToolsDomain = { ...given, tasks: [task] };
  const responder = rulesResponder(domain, 'rules');
  const { policy, user } = cast(task, turns, say);
  const environment = new ToolsEpisodeEnvironment({ id: 'planted', domain, responder, user });
  const withheld = await defectOf(domain, task);
  const record = await runEpisode(environment, policy, task, planRow(row, { seed: 1, groupSize: 1, branchAt: 0 }), {
    ...{ scenario: 'planted', scenarioHash: domain.version, seed: 1, source: 'synthetic', withheld },
    ...{ responderVersion: responder.version, userVersion: user.version, maxSteps: 60, weigh: () => 1 },
  });
  const config = qualitySchema.parse({});
  const kept = new QualityPipeline({ config, domain }).judge(record);
  const failed = record.verdict.checks.find(({ passed }) => passed !== true);
  return {
    reward: record.verdict.reward,
    why: failed === undefined ? 'every check passed' : `${failed.name}: ${failed.reason}`,
    imitated: kept !== undefined && whyNotImitated(kept, config.imitation) === undefined,
  };
}

/** Verdicts on the conversations of GPT-4o that came to their end, beside the rewards that τ-bench gave them then. */
async function recordedConversations() {
  const folder = join(process.env['REVERIE_SHARED_DATA']!, 'tau/airline');
  const domain = await makeDomain({ id: 'tau-airline', data: folder, release: 'tau1' });
  const file = join(folder, 'trajectories-gpt-4o.jsonl');
  const { episodes } = await readEpisodeLogs(file);
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const differing: string[] = [];
  let ended = 0;
  for (const [i, line] of lines.entries()) {
    const { task_id, trial, reward, info } = JSON.parse(line);
    const { messages } = episodes[i];
    const last = messages[messages.length - 1];
    const isEnd =
      last.role === 'tool' ? last.name === 'transfer_to_human_agents' : last.content?.includes('###STOP###');
    if (!isEnd) continue;
    ended++;
    type Action = { readonly name: string; readonly kwargs: JsonObject };
    const calls = info.task.actions.map(({ name, kwargs }: Action) => ({ name, arguments: kwargs }));
    const verifier: VerifierSpec = {
      state: 'reference',
      ...(info.task.outputs.length > 0 && { communicate: info.task.outputs }),
    };
    const task: ToolsTask = {
      id: String(task_id),
      family: 'recorded',
      user: { goal: '' },
      verifier,
      reference: { calls },
    };
    const finalState = messages
      .flatMap(callsOf)
      .reduce(
        (state, call) => applyOperations(state, domain.rules!.execute(state, call).operations),
        domain.initialState,
      );
    const verdict = verifyEpisode(domain, task, { initialState: domain.initialState, finalState, messages });
    if (verdict.reward !== reward) differing.push(`${task_id}/${trial}`);
  }
  domain.close();
  return { conversations: lines.length, ended, differing };
}

/** The planted agent and responder. */
function cast(
  task: ToolsTask,
  turns: readonly Turn[],
  say: string | undefined,
): { policy: ToolsPolicy; user: UserSimulator } {
  const actions = turns.map((turn, i): ToolsAction => {
    if (typeof turn === 'object' && 'ask' in turn) return { content: turn.ask };
    const call = typeof turn === 'number' ? task.reference!.calls[turn] : turn.call;
    return { content: null, toolCalls: [{ id: `call_${i}`, ...call }] };
  });
  const answers = turns.flatMap((turn) => (typeof turn === 'object' && 'answer' in turn ? [turn.answer] : []));
  const policy: ToolsPolicy = {
    version: 'planted',
    act: ({ messages }) => {
      const made = messages.filter(({ role }) => role === 'assistant').length;
      return { action: actions[made] ?? { content: say || 'That is all.' }, cost: NO_COST };
    },
  };
  const user: UserSimulator = {
    version: 'planted',
    open: () => ({ content: task.user.opening ?? task.user.goal, done: false, cost: NO_COST }),
    reply: ({ messages }) => {
      const asked = messages.filter((one) => one.role === 'assistant' && callsOf(one).length === 0).length;
      const answer = answers[asked - 1];
      return { content: answer ?? '', done: answer === undefined, cost: NO_COST };
    },
  };
  return { policy, user };
}

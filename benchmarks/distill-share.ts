// How many calls does a small model take over from the language model that it learned from? Of each seed: a language model answers the
// calls of the service desk in episodes of all its tasks; `reverie fit` makes a small model of these records; then it is asked the calls of
// further episodes of the same work, with other users and other ways through it, held against the service desk's own rules. What it is
// not sure of is left to the language model, which is one whose error is known: a share of its answers is wrong, in the records, too.
//
// The value is the share of calls that the small model answers; `raw` has what that does to the share of exact states, and the same for
// calls that no record has. Kept case by case (study-cases.ts); REVERIE_BENCH_SEEDS (comma-separated) chooses what this sitting measures.

import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { canonicalJson, sha256 } from '../src/core/canonical-json.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { CallSpec, ToolsDomain } from '../src/env/tools/domain.js';
import { makeDomain } from '../src/env/tools/make-domain.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import { loadAnyScenario, type ToolsScenario } from '../src/run/scenario.js';
import { confidenceOf } from '../src/worldmodel/from-records/calibration.js';
import { type JudgedAnswer, judgeSteps } from '../src/worldmodel/sequence/held-out.js';
import { type RecordedStep, recordedSteps } from '../src/worldmodel/sequence/recorded-steps.js';
import { ScriptCodec } from '../src/worldmodel/sequence/script.js';
import { loadSequence, type SequenceContents } from '../src/worldmodel/sequence/sequence-folder.js';
import { StepForm } from '../src/worldmodel/sequence/step-form.js';
import { schemaCheckOf } from '../src/worldmodel/tools/schema-check.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { controlledName } from './controlled-name.js';
import { startControlledServer } from './controlled-server.js';
import { runJob } from './fidelity-runs.js';
import { bootstrap, mean } from './measure.js';
import { type CaseName, chosen, studyOf } from './study-cases.js';

const ID = 'distill.share';
const SCENARIO = 'helpdesk';
const SEEDS = ['31', '32', '33', '34', '35'];
/** Share of the language model's answers that are wrong. */
const TEACHER_ERROR = 0.02;
/** Below it the language model is asked: what `model.sequence.minConfidence` is unless set. */
const MIN_CONFIDENCE = 0.8;

interface Sizes {
  /** Episodes that the language model answers, and those that are asked about. */
  readonly episodes: number;
  readonly asked: number;
  /** Gradient steps of the fit. */
  readonly steps: number;
}

const FULL: Sizes = { episodes: 600, asked: 100, steps: 800 };
const QUICK: Sizes = { episodes: 30, asked: 6, steps: 5 };

interface Shares {
  readonly calls: number;
  /** Of these, what the small model answers. */
  readonly takenOver: number;
  /** Exact next states, and exact texts, of what it answers; null where it answers nothing. */
  readonly stateExact: number | null;
  readonly textExact: number | null;
}

interface DistilledCase extends CaseName {
  readonly all: Shares;
  /** Of calls that are in no record with the same arguments. */
  readonly unseen: Shares;
  /** Exact next states of what the language model answered in the records. */
  readonly teacherExact: number;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const sizes = quick ? QUICK : FULL;
  const seeds = (quick ? SEEDS.slice(0, 1) : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const study = await studyOf<DistilledCase>(root, ID, quick);
  const server = await startControlledServer(SCENARIO, join(root, 'packs', SCENARIO));
  const folder = await mkdtemp(join(tmpdir(), 'reverie-distill-'));
  const cases: DistilledCase[] = [];
  try {
    for (const seed of seeds) {
      const name = { body: SCENARIO, arm: 'small model first', seed, hash: await hashOf(sizes) };
      let found = study.find(name);
      if (found === undefined) {
        found = { ...name, ...(await distilled(join(folder, String(seed)), server.url, seed, sizes)) };
        await study.keep(found);
      }
      log(`seed ${seed}: ${JSON.stringify({ all: found.all, unseen: found.unseen, teacher: found.teacherExact })}`);
      cases.push(found);
    }
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
  const value = bootstrap(
    cases.map(({ all }) => all.takenOver),
    mean,
  );
  const unseen = bootstrap(
    cases.map((one) => one.unseen.takenOver),
    mean,
  );
  const lost = bootstrap(cases.map(stateExactnessLost), mean);
  const raw = { sizes, teacherError: TEACHER_ERROR, takenOverOfUnseen: unseen, stateExactnessLost: lost, cases };
  return { ...value, n: cases.length, raw };
}

/** Of all calls, how many more states are wrong with the small model first than with the language model alone. */
function stateExactnessLost({ all: { takenOver, stateExact }, teacherExact }: DistilledCase): number {
  return stateExact === null ? 0 : takenOver * (teacherExact - stateExact);
}

async function hashOf(sizes: Sizes): Promise<string> {
  return sha256(canonicalJson([(await loadAnyScenario(SCENARIO)).hash, { ...sizes }, TEACHER_ERROR]));
}

async function distilled(folder: string, url: string, seed: number, sizes: Sizes) {
  await mkdir(folder, { recursive: true });
  const model = controlledName({ seed, transitionError: TEACHER_ERROR, rewardError: 0 });
  const work = (episodes: number) => ['synth.splits=[train, validation, test]', `synth.episodes=${episodes}`];
  const lived = await runJob({
    ...{ job: 'synth', scenario: SCENARIO, seed, out: join(folder, 'lived') },
    set: [
      ...['llm.provider=openai-compatible', `llm.url=${url}`, `llm.model=${JSON.stringify(model)}`],
      ...[...work(sizes.episodes), 'synth.export=[]', 'experience.logs=[]', 'model.backends=[llm]'],
    ],
  });
  const small = await runJob({
    ...{ job: 'fit', scenario: SCENARIO, seed, inputs: { data: lived }, out: join(folder, 'small') },
    set: [`model.sequence.fit.steps=${sizes.steps}`],
  });
  const further = await runJob({
    ...{ job: 'collect', scenario: SCENARIO, seed: seed + 1000, out: join(folder, 'further') },
    set: work(sizes.asked),
  });
  return judged(await episodesIn(lived), await episodesIn(further), small);
}

async function episodesIn(run: string): Promise<EpisodeRecord[]> {
  const text = await readFile(join(run, 'data', 'episodes.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

async function judged(records: readonly EpisodeRecord[], further: readonly EpisodeRecord[], small: string) {
  const { config, folder } = (await loadAnyScenario(SCENARIO)) as ToolsScenario;
  const domain = await makeDomain(config.domain, { folder });
  const contents = await loadSequence(small);
  const asksOf = (episodes: readonly EpisodeRecord[]) =>
    [...recordedSteps(episodes, domain, { typed: true })].filter(({ question }) => isWellFormed(question.call, domain));
  const taught = asksOf(records);
  const seen = new Set(taught.map(({ question: { call } }) => canonicalJson([call.name, call.arguments])));
  const asked = asksOf(further);
  const answers = await judgeSteps(
    contents.decoder,
    ScriptCodec.of(contents.tokenizer)!,
    new StepForm(contents.form),
    asked,
  );
  const isUnseen = asked.map(({ question: { call } }) => !seen.has(canonicalJson([call.name, call.arguments])));
  const teacherExact = mean(taught.map((step) => (isTrue(step, domain) ? 1 : 0)));
  domain.close();
  return {
    all: sharesOf(answers, contents),
    unseen: sharesOf(
      answers.filter((_, i) => isUnseen[i]),
      contents,
    ),
    teacherExact,
  };
}

function sharesOf(answers: readonly JudgedAnswer[], { calibration }: SequenceContents): Shares {
  const taken = answers.filter((one) => one.isAnswered && confidenceOf(calibration, one.logProb) >= MIN_CONFIDENCE);
  const share = (is: (one: JudgedAnswer) => boolean) =>
    taken.length === 0 ? null : taken.filter(is).length / taken.length;
  return {
    calls: answers.length,
    takenOver: answers.length === 0 ? 0 : taken.length / answers.length,
    stateExact: share(({ isStateExact }) => isStateExact),
    textExact: share(({ isTextExact }) => isTextExact),
  };
}

/** What breaks its schema is refused before any model is asked. */
function isWellFormed({ name, arguments: given }: CallSpec, { tools }: ToolsDomain): boolean {
  const tool = tools.find((one) => one.name === name);
  return tool !== undefined && schemaCheckOf(tool.parameters, name)(given).length === 0;
}

/** Whether the rules would have made the state that was recorded. */
function isTrue({ question: { call, world }, answer }: RecordedStep, { rules }: ToolsDomain): boolean {
  const before = world!.values;
  const truth = rules!.execute(before, { ...call, id: '' });
  const [was, is] = [answer.operations, truth.operations].map((operations) => applyOperations(before, operations));
  return answer.isError === truth.isError && isDeepStrictEqual(was, is);
}

// The small jobs that are compared: all that Reverie makes, in seconds each.

import { playNumbers, playStructured } from './served-sessions.mjs';

const set = (...overrides) => overrides.flatMap((one) => ['--set', one]);

const SEED = ['--seed', '3'];
const SMALL_MODEL = set('model.members=3', 'model.elites=2', 'model.hidden=[32, 32]', 'model.maxEpochs=3');
const EPISODE_FORMATS = 'synth.export=[openai, sharegpt, trl, verl, atif, adp, parquet]';
const KEPT_AT_ONCE = set('train.checkpointSeconds=0', 'train.stopAtThreshold=false');

/** The must-fail suite has jobs of its own, and takes longer than the rest. */
const UNAUDITED = set('reward.mustFail.enabled=false');

/** Of a run that was killed: its journal may tell some things twice. */
const made = (part) => /^(data|datasets|checkpoint)\//.test(part);

/**
 * A command on numbers, whose bytes differ between processors.
 * @param needs jobs whose runs it reads
 */
function numbers(name, args, needs = [], keep = undefined) {
  const run = (side) => side.command(name, [...args, ...SEED, '--workers', side.workers], keep);
  return { name, needs, run };
}

/** A command on structured worlds, whose content is the same on every machine. */
function structured(name, args, needs = []) {
  return { name, needs, run: (side) => side.command(name, [...args, ...SEED]) };
}

export const JOBS = [
  numbers('collect-pendulum', ['collect', 'pendulum', ...set('collect.steps=600')]),
  numbers('fit-pendulum', ['fit', '--data', 'collect-pendulum', ...SMALL_MODEL], ['collect-pendulum']),
  numbers(
    'synth-pendulum',
    [
      ...['synth', '--model', 'fit-pendulum', '--data', 'collect-pendulum'],
      ...set('synth.starts=20', 'rollout.horizon=3', 'synth.export=[parquet, minari]'),
    ],
    ['fit-pendulum'],
  ),
  numbers(
    'fidelity-pendulum',
    [
      ...['fidelity', 'pendulum', '--model', 'fit-pendulum'],
      ...set('fidelity.transitions=1000', 'fidelity.horizon=10', 'fidelity.starts=16'),
    ],
    ['fit-pendulum'],
  ),
  numbers('train-sac-dream', ['train', 'pendulum', '--profile', 'smoke']),
  numbers('train-sac-real', ['train', 'pendulum', '--profile', 'smoke', ...set('train.mode=real')]),
  numbers('train-ppo-real', [
    ...['train', 'cartpole', '--profile', 'smoke'],
    ...set('train.mode=real', 'train.realSteps=2000'),
  ]),
  numbers('eval-pendulum', ['eval', '--checkpoint', 'train-sac-dream', ...set('eval.episodes=3')], ['train-sac-dream']),
  // Its own result is a table with wall times; what stands in it is in the runs.
  numbers('quickstart', ['quickstart', '--profile', 'smoke'], [], (part) => part !== 'result.json'),
  {
    name: 'killed-train',
    needs: [],
    run: (side, name) =>
      side.killed(
        name,
        [
          ...['train', 'cartpole-swingup', '--profile', 'smoke', ...KEPT_AT_ONCE, ...SEED],
          ...['--workers', side.workers],
        ],
        {
          resume: ['train', '--resume', name, '--workers', side.workers],
          watched: /^(metrics\.jsonl|checkpoint.*)$/,
          growth: [1, 200_000],
          keep: made,
        },
      ),
  },
  {
    name: 'serve-pendulum',
    needs: ['fit-pendulum'],
    run: (side, name) =>
      side.served(name, ['real=pendulum', 'dream=pendulum', '--model', 'dream=fit-pendulum'], playNumbers),
  },
  structured('collect-helpdesk', ['collect', 'helpdesk', ...set('synth.episodes=10')]),
  structured('synth-helpdesk', ['synth', 'helpdesk', '--profile', 'smoke']),
  structured('synth-cellar', ['synth', 'cellar', '--profile', 'smoke', ...UNAUDITED]),
  structured('early-experience', [
    ...['synth', 'helpdesk'],
    ...set('synth.episodes=24', 'synth.groupSize=4', 'synth.branchAt=2', 'synth.pick=curriculum'),
    ...set('tasks.variation.count=3', 'synth.earlyExperience.counterfactuals=2'),
    ...set('quality.nearDuplicates=false'),
    ...UNAUDITED,
  ]),
  structured(
    'export-helpdesk',
    ['export', '--episodes', 'early-experience', ...set(EPISODE_FORMATS)],
    ['early-experience'],
  ),
  structured('export-cellar', ['export', '--episodes', 'synth-cellar', ...set(EPISODE_FORMATS)], ['synth-cellar']),
  structured('eval-helpdesk', ['eval', 'helpdesk', ...set('synth.episodes=10', 'agent={kind: reference, error: 0.1}')]),
  structured('fidelity-helpdesk', [
    ...['fidelity', 'helpdesk', ...set('fidelity.questions=40', 'fidelity.episodes=8')],
    ...set('fidelity.rank.episodes=2', 'fidelity.rank.policies=8'),
  ]),
  structured('audit-helpdesk', ['audit', 'helpdesk']),
  structured('audit-cellar', ['audit', 'cellar']),
  {
    name: 'killed-synth',
    needs: [],
    run: (side, name) =>
      side.killed(name, ['synth', 'helpdesk', '--profile', 'smoke', ...SEED], {
        resume: ['synth', '--resume', name],
        watched: /^journal\//,
        growth: [1, 4000],
        keep: made,
      }),
  },
  {
    name: 'serve-structured',
    needs: [],
    run: (side, name) => side.served(name, ['helpdesk', 'cellar'], playStructured),
  },
];

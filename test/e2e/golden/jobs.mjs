// The small jobs whose results are held: all kinds of data that structured worlds make, in seconds each.

import { playSessions } from './served-sessions.mjs';

const set = (...overrides) => overrides.flatMap((one) => ['--set', one]);

const SEED = ['--seed', '3'];
const EPISODE_FORMATS = 'synth.export=[openai, sharegpt, trl, verl, atif, adp, parquet]';

/** The must-fail suite has jobs of its own, and takes longer than the rest. */
const UNAUDITED = set('reward.mustFail.enabled=false');

/** @param needs jobs whose runs it reads */
function command(name, args, needs = []) {
  return { name, needs, run: (side) => side.command(name, [...args, ...SEED]) };
}

export const JOBS = [
  command('synth-cellar', ['synth', 'cellar', '--profile', 'smoke', ...UNAUDITED]),
  command('early-experience', [
    ...['synth', 'helpdesk'],
    ...set('synth.episodes=24', 'synth.groupSize=4', 'synth.branchAt=2', 'synth.pick=curriculum'),
    ...set('tasks.variation.count=3', 'synth.earlyExperience.counterfactuals=2'),
    ...set('quality.nearDuplicates=false'),
    ...UNAUDITED,
  ]),
  command(
    'export-helpdesk',
    ['export', '--episodes', 'early-experience', ...set(EPISODE_FORMATS)],
    ['early-experience'],
  ),
  command('export-cellar', ['export', '--episodes', 'synth-cellar', ...set(EPISODE_FORMATS)], ['synth-cellar']),
  command('fidelity-helpdesk', [
    ...['fidelity', 'helpdesk', ...set('fidelity.questions=40', 'fidelity.episodes=8')],
    ...set('fidelity.rank.episodes=2', 'fidelity.rank.policies=8'),
  ]),
  command('audit-helpdesk', ['audit', 'helpdesk']),
  {
    name: 'serve-structured',
    needs: [],
    run: (side, name) => side.served(name, ['helpdesk', 'cellar'], playSessions),
  },
];

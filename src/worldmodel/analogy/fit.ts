// The model of recorded episodes: all of them, and how sure it may be, found by asking about steps without what was recorded with them.

import type { RecordedFit, RecordedFitRequest } from '../from-records/entry.js';
import { judgeRecords } from '../from-records/judging.js';
import type { AnalogyContents } from './analogy-model.js';
import { Casebook } from './casebook.js';
import { judged } from './judging.js';
import { stepsOf, walksOf } from './recorded-walks.js';

export async function fitAnalogy(request: RecordedFitRequest): Promise<RecordedFit<AnalogyContents>> {
  const { domain, episodes } = request;
  const walks = walksOf(episodes, domain);
  const steps = stepsOf(walks);
  const book = new Casebook(steps);
  const found = await judgeRecords(request, {
    ...{ steps, unit: 'steps' },
    keyOf: ({ task, before: { look, inventory }, text }) => [task, look, inventory, text].join('\n'),
    // A dream begins in games that were recorded and in others.
    judge: (step, i) => judged(book, step, i % 2 === 0 ? 'episode' : 'task'),
  });
  const claims = found.judged.filter(({ claimsWin }) => claimsWin);
  const wins = { said: claims.length, right: claims.filter(({ isWin }) => isWin).length };
  const { calibration, report } = found;
  return { contents: { domain: domain.id, walks, calibration, wins, exactness: report.exact }, report };
}

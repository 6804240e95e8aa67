// Retrieval the slow and obvious way: every step a query may see is scored from its words, term by term, then sorted.

import type { ExperienceStep, RetrievalQuery } from '../../../src/replay/experience/experience.js';
import { callTokens, historyTokens } from '../../../src/replay/experience/terms.js';

export interface ReferenceOptions {
  readonly maxSteps?: number;
}

interface Document {
  readonly step: ExperienceStep;
  readonly counts: Map<string, number>;
  readonly length: number;
}

/** `steps` in the order they were added, without two equal ones. */
export function referenceSearch(
  steps: readonly ExperienceStep[],
  query: RetrievalQuery,
  k: number,
  { maxSteps = Number.POSITIVE_INFINITY }: ReferenceOptions = {},
): { step: ExperienceStep; score: number }[] {
  const isSeen = (step: ExperienceStep): boolean => query.exceptTask === undefined || step.task !== query.exceptTask;
  const real = steps.filter(({ source }) => source === 'real');
  const synthetic = newestRows(simulated(steps, query), maxSteps).filter(isSeen);
  const counted = [...real, ...synthetic].map(asDocument);
  const averageLength = counted.reduce((sum, { length }) => sum + length, 0) / counted.length;
  const weights = [...queryWeights(query)].map(([term, weight]) => {
    const frequency = counted.filter(({ counts }) => counts.has(term)).length;
    const idf = Math.log(1 + (counted.length - frequency + 0.5) / (frequency + 0.5));
    return [term, weight * idf] as const;
  });
  const scored = counted
    .filter(({ step }) => isSeen(step))
    .map((document, order) => {
      const norm = 1.2 * (1 - 0.75 + (0.75 * document.length) / averageLength);
      let score = 0;
      for (const [term, weight] of weights) {
        const count = document.counts.get(term) ?? 0;
        score += Math.trunc((weight * 2.2 * 2 ** 17 * count) / (count + norm));
      }
      return { step: document.step, score: score / 2 ** 17, order };
    });
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.step.row - b.step.row || a.order - b.order)
    .slice(0, k)
    .map(({ step, score }) => ({ step, score }));
}

function simulated(steps: readonly ExperienceStep[], query: RetrievalQuery) {
  if (query.sources === 'real') return [];
  const before = query.beforeRow ?? Number.POSITIVE_INFINITY;
  return steps.filter(({ source, row }) => source === 'synthetic' && row < before);
}

function newestRows(steps: readonly ExperienceStep[], maxSteps: number): ExperienceStep[] {
  const rows = [...new Set(steps.map(({ row }) => row))].sort((a, b) => b - a);
  const from = rows.filter((row) => steps.filter((step) => step.row >= row).length <= maxSteps).at(-1);
  return steps.filter(({ row }) => from !== undefined && row >= from);
}

function asDocument(step: ExperienceStep): Document {
  const counts = new Map<string, number>();
  const add = (token: string, by: number): void => void counts.set(token, Math.min(255, (counts.get(token) ?? 0) + by));
  for (const token of callTokens(step.call)) add(token, 3);
  for (const line of step.history) for (const token of historyTokens(line)) add(token, 1);
  return { step, counts, length: [...counts.values()].reduce((sum, count) => sum + count, 0) };
}

function queryWeights(query: RetrievalQuery): Map<string, number> {
  const weights = new Map<string, number>();
  for (const token of new Set(callTokens(query.call))) weights.set(token, 3);
  for (const token of new Set(query.history.flatMap(historyTokens))) weights.set(token, (weights.get(token) ?? 0) + 1);
  return weights;
}

// Steps as documents that a decoder learns from. A question that occurs again is one document; forms of steps that are rare (heating,
// among a thousand looks around) come more often than they did, as the square root of their number.

import { canonicalJson } from '../../core/canonical-json.js';
import type { TrainingDocument } from '../../nn/decoder/trainer.js';
import type { RecordedStep } from './recorded-steps.js';
import { isMark, type Piece, type ScriptCodec } from './script.js';
import type { SequenceFitSettings } from './settings.js';
import type { StepForm } from './step-form.js';

export interface WrittenStep {
  readonly question: readonly Piece[];
  readonly answer: readonly Piece[];
}

/** Steps in words; what its form has no words for is left out. */
export function writtenSteps(steps: Iterable<RecordedStep>, form: StepForm): WrittenStep[] {
  const written: WrittenStep[] = [];
  for (const { question, answer } of steps) {
    const asked = form.ask(question);
    const told = form.answer(answer, asked);
    if (told !== undefined) written.push({ question: asked.pieces, answer: told });
  }
  return written;
}

/** All texts between slots and marks. */
export function* textsOf(steps: readonly WrittenStep[]): Generator<string> {
  for (const { question, answer } of steps) {
    for (const piece of [...question, ...answer]) if ('text' in piece) yield piece.text;
  }
}

export interface Documents {
  readonly documents: readonly TrainingDocument[];
  /** Steps that differ; and of these, how many are left out, as they, or their answers, are too long. */
  readonly distinct: number;
  readonly tooLong: number;
}

/** Most times that a step of a rare form is repeated. */
const MOST_COPIES = 16;

export function documentsOf(
  steps: readonly WrittenStep[],
  codec: ScriptCodec,
  { length, auxiliary, atOnce }: Pick<SequenceFitSettings, 'length' | 'auxiliary' | 'atOnce'>,
): Documents {
  const { begin, end } = codec.tokenizer.special;
  const { blank } = codec;
  const forms = new Map<string, TrainingDocument[]>();
  const seen = new Set<string>();
  let tooLong = 0;
  for (const { question, answer } of steps) {
    const asked = [begin, ...codec.encode(question)];
    const tokens = [...asked, ...codec.encode(answer), end];
    const key = tokens.join();
    if (seen.has(key)) continue;
    seen.add(key);
    if (tokens.length > length || (atOnce !== undefined && tokens.length - asked.length > atOnce)) {
      tooLong += 1;
      continue;
    }
    const weights = tokens.map((_, i) => (i < asked.length ? auxiliary : 1));
    const form = formOf(question, answer);
    const shown = blank === undefined ? undefined : tokens.map((token, i) => (i < asked.length ? token : blank));
    forms.set(form, [...(forms.get(form) ?? []), { tokens, weights, ...(shown && { shown }) }]);
  }
  const largest = Math.max(0, ...[...forms.values()].map((own) => own.length));
  const documents = [...forms.keys()].sort().flatMap((form) => {
    const own = forms.get(form)!;
    const copies = Math.min(MOST_COPIES, Math.round(Math.sqrt(largest / own.length)));
    return Array.from({ length: copies }, () => own).flat();
  });
  return { documents, distinct: seen.size, tooLong };
}

/** What a step is but for the things it is about: the words of the call, and what changes. */
function formOf(question: readonly Piece[], answer: readonly Piece[]): string {
  const call = question.slice(0, afterCall(question));
  const says = answer.findIndex((piece) => isMark(piece, 'says'));
  return canonicalJson([...call, ...answer.slice(0, says)].map((piece) => ('slot' in piece ? { slot: 0 } : piece)));
}

/** Where the section after the call begins. */
function afterCall(question: readonly Piece[]): number {
  return question.findIndex((piece, i) => i > 0 && 'mark' in piece && piece.mark !== 'glue');
}

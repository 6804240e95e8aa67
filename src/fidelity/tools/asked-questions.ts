// A model's answers to the questions, asked once for all instruments that look at them.

import type { Responder } from '../../env/index.js';
import type { ToolsQuestion } from './question.js';
import { askQuestion, type StepRow } from './step-row.js';

/** Units of work that one chunk holds. */
export const CHUNK = 10;

export interface AskedOptions {
  readonly responder: Responder;
  readonly questions: readonly ToolsQuestion[];
  readonly seed: number;
}

export class AskedQuestions {
  readonly questions: readonly ToolsQuestion[];
  private readonly rows = new Map<string, Promise<StepRow>>();

  constructor(private readonly options: AskedOptions) {
    this.questions = options.questions;
  }

  get chunks(): number {
    return Math.ceil(this.questions.length / CHUNK);
  }

  /** First answers to the questions of a chunk, one after the other. */
  async chunk(chunk: number, signal?: AbortSignal): Promise<StepRow[]> {
    const rows: StepRow[] = [];
    const end = Math.min((chunk + 1) * CHUNK, this.questions.length);
    for (let index = chunk * CHUNK; index < end; index++) rows.push(await this.row(index, 0, signal));
    return rows;
  }

  row(index: number, attempt: number, signal?: AbortSignal): Promise<StepRow> {
    const key = `${index}/${attempt}`;
    const made = this.rows.get(key) ?? this.asked(key, index, attempt, signal);
    this.rows.set(key, made);
    return made;
  }

  private async asked(key: string, index: number, attempt: number, signal?: AbortSignal): Promise<StepRow> {
    const { responder, questions, seed } = this.options;
    try {
      return await askQuestion(responder, questions[index], index, { seed, attempt, signal });
    } catch (error) {
      // Whoever asks again, asks anew.
      this.rows.delete(key);
      throw error;
    }
  }
}

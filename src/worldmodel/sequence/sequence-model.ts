// The sequence model as a backend of the router. Calls that are asked at the same time are read and answered as one batch, each to the
// byte as if alone.

import { NO_COST } from '../../core/cost.js';
import type { Message } from '../../env/tools/message.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import { confidenceOf } from '../from-records/calibration.js';
import type { BackendModel, Declined, PredictOptions, RawProposal } from '../tools/backend-model.js';
import { type Answered, type AskedTokens, answersOf, tokensOf } from './answering.js';
import { goalOf, worldOf } from './recorded-steps.js';
import { ScriptCodec } from './script.js';
import { type SequenceContents, versionOf } from './sequence-folder.js';
import { type PastStep, StepForm } from './step-form.js';

interface Waiting {
  readonly question: AskedTokens;
  readonly resolve: (answer: Answered) => void;
  readonly reject: (reason: unknown) => void;
}

/** Most calls answered at once. */
const MOST = 64;

export class SequenceModel implements BackendModel {
  readonly version: string;
  private readonly form: StepForm;
  private readonly codec: ScriptCodec;
  private waiting: Waiting[] = [];
  private isBusy = false;

  constructor(private readonly contents: SequenceContents) {
    this.version = versionOf(contents);
    this.form = new StepForm(contents.form);
    this.codec = ScriptCodec.of(contents.tokenizer)!;
  }

  async predict(query: CallQuery, { signal }: PredictOptions): Promise<RawProposal | Declined> {
    signal?.throwIfAborted();
    const { form, calibration } = this.contents;
    const { contextLength } = this.contents.decoder.config;
    const world = form.world === 'unseen' ? undefined : worldOf(query.domain, query.state);
    const asked = this.form.ask({
      call: query.call,
      goal: goalOf(query.task),
      ...(world && { world }),
      past: pastOf(query),
    });
    const tokens = tokensOf(asked, this.codec, contextLength);
    if (tokens === undefined) return { declined: `the question does not fit its ${contextLength} tokens` };
    const { answer, logProb } = await this.answered({ asked, tokens });
    if (typeof answer === 'string') return { declined: `its answer cannot be read: ${answer}` };
    const { operations, observation, isError, ends } = answer;
    const claimed = { reward: ends ?? null, terminated: ends !== undefined };
    return { operations, observation, isError, confidence: confidenceOf(calibration, logProb), claimed, cost: NO_COST };
  }

  private answered(question: AskedTokens): Promise<Answered> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ question, resolve, reject });
      if (!this.isBusy) {
        this.isBusy = true;
        // Whoever asks in this turn of the loop is answered together.
        setImmediate(() => this.answerAll());
      }
    });
  }

  private async answerAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, MOST);
      this.waiting = this.waiting.slice(MOST);
      const questions = batch.map(({ question }) => question);
      try {
        const answers = await answersOf(this.contents.decoder, this.codec, this.form, questions);
        batch.forEach(({ resolve }, i) => {
          resolve(answers[i]);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.isBusy = false;
  }
}

/** Calls of the conversation that were answered before the one at hand. */
function pastOf({ messages, call }: CallQuery): PastStep[] {
  const answers = new Map<string, string>();
  for (const message of messages as readonly Message[]) {
    if (message.role === 'tool') answers.set(message.toolCallId, message.content);
  }
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  return calls.flatMap((one) => {
    const observation = answers.get(one.id);
    return observation === undefined || one.id === call.id ? [] : [{ call: one, observation }];
  });
}

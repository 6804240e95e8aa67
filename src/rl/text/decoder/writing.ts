// How a decoder writes actions itself, under the JSON Schema of what may be written: token by token, among the tokens that some text of the
// schema goes on with and that leave room to end it. So every action is whole and valid, and its log-probability is that among such texts,
// cut into tokens as it was. Drawn texts take one number a token, from a stream that the decision's draw begins; without draws the most
// probable token is taken each time, which need not come to the most probable text.

import { reverieError } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import { Rng } from '../../../core/rng.js';
import { choicesAlong, type Decoder, SchemaLanguage } from '../../../nn/index.js';
import type { TextDecision, TextLesson, TextSituation } from '../text-policy.js';
import type { Path, Transcript } from './transcript.js';

const DRAWS = 2 ** 32;

export class WrittenTexts {
  private readonly known = new WeakMap<JsonObject, SchemaLanguage>();
  private readonly byText = new Map<string, SchemaLanguage>();

  /** @param room most tokens of a text, the end included. @throws TEXT_WRITING_UNFIT if the context does not hold so many */
  constructor(
    private readonly transcript: Transcript,
    readonly room: number,
  ) {
    const { longestCommand, context } = transcript;
    if (room > longestCommand)
      throw unfit(`a context of ${context} tokens holds texts of ${longestCommand}, and it says ${room}`);
  }

  /**
   * A text for each situation.
   * @param choices most tokens that are left open, the same as in training
   * @param draws as those of `TextPolicy.decide`
   */
  async write(
    decoder: Decoder,
    situations: readonly TextSituation[],
    choices: number,
    draws?: readonly number[],
  ): Promise<Omit<TextDecision, 'value'>[]> {
    const { end } = this.transcript.tokenizer.special;
    const languages = situations.map(({ schema }) => this.language(schema!));
    const requests = situations.map((situation, i) => ({
      prompt: this.transcript.prompt(situation, this.room).tokens,
      rng: Rng.fromSeed(Math.floor((draws?.[i] ?? 0) * DRAWS)).split('written'),
      constraint: languages[i].constraint(this.room),
    }));
    const options = {
      maxTokens: this.room,
      stop: [end],
      entropies: true,
      choices,
    };
    const generated = await decoder.generate(requests, { ...options, temperature: draws === undefined ? 0 : 1 });
    return generated.map(({ tokens, logProbs, choices: left, entropies }) => {
      const terms = logProbs.filter((_, i) => left![i]!.length > 1);
      const logProb = terms.reduce((sum, term) => sum + term, 0);
      const entropy = entropies!.reduce((sum, term) => sum + term, 0);
      const text = this.transcript.tokenizer.decode(tokens);
      return { choice: 0, logProb, terms, entropy, written: { text, tokens } };
    });
  }

  /**
   * What was written, token by token: as it was, or, where that is not known, as the tokenizer cuts it.
   * @throws TEXT_WRITING_UNFIT for a text that could not have been written
   */
  path({ situation: { schema, admissible }, choice, tokens: given }: TextLesson): Path {
    const text = admissible[choice];
    const language = this.language(schema!);
    const shown = text.length > 100 ? `${text.slice(0, 100)}...` : text;
    if (!language.has(text)) throw unfit(`what is to be imitated is not allowed by the schemas of the tools: ${shown}`);
    const { tokenizer } = this.transcript;
    const tokens = given ?? [...tokenizer.encode(text), tokenizer.special.end];
    if (tokens.length > this.room)
      throw unfit(`what is to be imitated takes ${tokens.length} tokens, and it says ${this.room}: ${shown}`);
    // What is imitated fits the room; but whether a token leaves any is judged by bytes, and its last tokens may be longer.
    return { tokens, choices: choicesAlong(language, tokens, given === undefined ? undefined : this.room) };
  }

  /** @throws DECODER_SCHEMA_UNSUPPORTED; TEXT_WRITING_UNFIT if some alternative of the schema has no text that is short enough */
  private language(schema: JsonObject): SchemaLanguage {
    let language = this.known.get(schema);
    if (language !== undefined) return language;
    const text = JSON.stringify(schema);
    language = this.byText.get(text) ?? this.made(schema);
    this.byText.set(text, language);
    this.known.set(schema, language);
    return language;
  }

  private made(schema: JsonObject): SchemaLanguage {
    const of = (some: JsonObject) => new SchemaLanguage(some, this.transcript.tokenizer, 'the tools');
    const { anyOf } = schema;
    for (const one of Array.isArray(anyOf) ? anyOf : []) {
      const { least } = of({ ...schema, anyOf: [one] });
      if (least > this.room)
        throw unfit(
          `the shortest text under ${JSON.stringify(one).slice(0, 100)} takes ${least} tokens, and it says ${this.room}`,
        );
    }
    return of(schema);
  }
}

function unfit(problem: string): Error {
  return reverieError('TEXT_WRITING_UNFIT', { problem });
}

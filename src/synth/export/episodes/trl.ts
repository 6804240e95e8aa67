// Rows for Hugging Face TRL, each kind a configuration of its own: whole conversations; one turn of the agent after what came
// before it; pairs of a better and a worse episode from one start; episodes with a thumb up or down (KTO). Arguments are
// objects, and `tools` is a JSON text, which TRL parses.

import type { JsonObject } from '../../../core/json.js';
import type { Message } from '../../../env/index.js';
import type { EpisodeRecord } from '../../../replay/index.js';
import type { EpisodeFormat, FormatContext, FormatRow } from './format.js';
import { hasFractions, lengthOfStart, templateMessage, toLastTurn, unmaskedMessages } from './messages.js';
import { PreferencePairs } from './preference-pairs.js';

/** From this reward on an episode is a good example (KTO's label). */
const GOOD_REWARD = 0.5;

/** Its parser is pandas' ujson: ten decimals, and a multiplication by powers of 1/10, which are no floats. */
const FRACTIONS = 'numbers with fractions, of which `datasets` changes some in their last digits';

const TOOLS = { name: 'tools', dtype: 'string' };
const lists = (...names: string[]) => names.map((name) => ({ name, list: 'json' }));

const TABLES = {
  messages: { features: [...lists('messages'), TOOLS], isImitated: true },
  prompt_completion: { features: [...lists('prompt', 'completion'), TOOLS], isImitated: true },
  preference: {
    features: [
      ...lists('prompt', 'chosen', 'rejected'),
      TOOLS,
      { name: 'score_chosen', dtype: 'float64' },
      { name: 'score_rejected', dtype: 'float64' },
    ],
  },
  unpaired: { features: [...lists('prompt', 'completion'), { name: 'label', dtype: 'bool' }, TOOLS] },
};

export function trlFormat({ tools, adapt }: FormatContext): EpisodeFormat {
  const toolsText = JSON.stringify(tools);
  const pairs = new PreferencePairs(adapt);
  const withTools = (table: keyof typeof TABLES, split: FormatRow['split'], value: JsonObject): FormatRow => ({
    table,
    split,
    value: { ...value, tools: toolsText },
  });
  const paired = (rows: readonly JsonObject[], split: FormatRow['split']) =>
    rows.map((row) => withTools('preference', split, row));
  return {
    tables: TABLES,
    *rows(record): Generator<FormatRow> {
      const { split } = record;
      if (hasFractions(record.messages)) adapt(FRACTIONS);
      const messages = unmaskedMessages(record, adapt).map(templateMessage);
      if (messages.length > 0) yield withTools('messages', split, { messages });
      for (const row of turnRows(record)) yield withTools('prompt_completion', split, row);
      for (const row of labelled(record, adapt)) yield withTools('unpaired', split, row);
      for (const { rows, split: ofPairs } of pairs.add(record)) yield* paired(rows, ofPairs);
    },
    *end(): Generator<FormatRow> {
      for (const { rows, split } of pairs.end()) yield* paired(rows, split);
    },
  };
}

/** A row for each turn of the agent that may be learnt from: what led to it, and the turn alone. */
function* turnRows({ messages, masked }: EpisodeRecord): Generator<JsonObject> {
  for (let index = 1; index < messages.length; index++) {
    const isHeard = messages[index - 1].role === 'user' || messages[index - 1].role === 'tool';
    if (messages[index].role !== 'assistant' || masked?.includes(index) || !isHeard) continue;
    const prompt = messages.slice(0, index).map(templateMessage);
    yield { prompt, completion: [templateMessage(messages[index])] };
  }
}

/** The episode as an example of what to do or what not to do; none where nobody judged it. */
function* labelled(record: EpisodeRecord, adapt: (reason: string) => void): Generator<JsonObject> {
  const { reward } = record.verdict;
  if (reward === null) {
    adapt('left out of unpaired: not judged');
    return;
  }
  const [prompt, completion] = startAndRest(toLastTurn(record.messages, adapt));
  if (completion.length > 0) yield { prompt, completion, label: reward >= GOOD_REWARD };
}

function startAndRest(messages: readonly Message[]): [start: JsonObject[], rest: JsonObject[]] {
  const start = lengthOfStart(messages);
  const written = messages.map(templateMessage);
  return [written.slice(0, start), written.slice(start)];
}

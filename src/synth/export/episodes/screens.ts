// Rows of episodes on screens, a row a step: what was asked, the screen as its tree and as its picture, and the action with the elements
// that it names, by role, name and place. `messages` with `images` is the form in which trainers of vision and language models read
// conversations (TRL's SFTTrainer, verl's MultiTurnSFTDataset); without pictures the same rows are text.

import type { JsonObject } from '../../../core/json.js';
import { actionLine, elementIn, elementKeys, isScreenDomain, type ToolCall } from '../../../env/index.js';
import type { EpisodeRecord, EpisodeStep, KeptPicture } from '../../../replay/index.js';
import type { EpisodeFormat, FormatContext, FormatRow } from './format.js';
import { lengthOfStart } from './messages.js';
import type { NestedColumns } from './nested-parquet.js';

const PART = { struct: { type: 'text', text: 'text' } } as const;
const TARGET = {
  struct: { argument: 'text', bid: 'text', role: 'text', name: 'text', bbox: { list: 'double' } },
} as const;

/** As `datasets` stores images: `bytes` are those of the file, and `path` is its name. */
const IMAGE = { struct: { bytes: 'bytes', path: 'text' } } as const;

const COLUMNS: NestedColumns = {
  messages: { list: { struct: { role: 'text', content: { list: PART } } } },
  images: { list: IMAGE },
  goal: 'text',
  observation: 'text',
  action: 'text',
  targets: { list: TARGET },
  width: 'integer',
  height: 'integer',
  id: 'text',
  task: 'text',
  family: 'text',
  seed: 'integer',
  step: 'integer',
  source: 'text',
  reward: 'double',
};

const texts = (...names: string[]) => names.map((name) => ({ name, dtype: 'string' }));
const whole = (...names: string[]) => names.map((name) => ({ name, dtype: 'int64' }));

/** For the card: Parquet alone does not say that a struct is an image. */
const FEATURES: readonly JsonObject[] = [
  { name: 'messages', list: [...texts('role'), { name: 'content', list: texts('type', 'text') }] },
  { name: 'images', list: 'image' },
  ...texts('goal', 'observation', 'action'),
  { name: 'targets', list: [...texts('argument', 'bid', 'role', 'name'), { name: 'bbox', list: 'float64' }] },
  ...whole('width', 'height'),
  ...texts('id', 'task', 'family'),
  ...whole('seed', 'step'),
  ...texts('source'),
  { name: 'reward', dtype: 'float64' },
];

const USE = `A row is a step. \`messages\` holds the policy, what the agent saw (an image where there is one, the goal, what it did before, the tree)
and its action; \`images\` the picture that the image part stands for.

\`\`\`python
from datasets import load_dataset

rows = load_dataset("FOLDER", split="train")
rows[0]["images"], rows[0]["messages"][-1]["content"][0]["text"], rows[0]["targets"]
\`\`\``;

/** Where a tree begins in what is told first: after the goal. */
const TREE = /\n\n(?=Tab 0\b|RootWebArea )/;

interface Screen {
  readonly goal: string;
  readonly tree: string;
  readonly picture: KeptPicture | undefined;
}

export function screensFormat(context: FormatContext): EpisodeFormat {
  const isOfScreens = isScreenDomain(context.domain);
  return {
    tables: { default: { columns: COLUMNS, features: FEATURES, isImitated: true } },
    use: USE,
    *rows(record): Generator<FormatRow> {
      if (!isOfScreens) {
        context.adapt('left out: its world has no screens');
        return;
      }
      const done: string[] = [];
      let screen = openingOf(record);
      for (const [at, step] of record.steps.entries()) {
        const call = callOf(step);
        if (call === undefined) context.adapt('a turn is left out that is not one action that was carried out');
        else if (record.masked?.includes(step.message)) context.adapt('a masked turn is left out');
        else yield { split: record.split, value: rowOf(context, record, { at, call, screen, done }) };
        if (call !== undefined) done.push(actionLine(call));
        screen = after(screen, step);
      }
    },
  };
}

function openingOf({ messages, picture }: EpisodeRecord): Screen {
  const told = messages.slice(0, lengthOfStart(messages)).findLast(({ role }) => role === 'user')?.content ?? '';
  const [goal, ...rest] = told.split(TREE);
  return { goal, tree: rest.join('\n\n'), picture };
}

/** A screen that refused is what it was. */
function after(screen: Screen, { predictions, picture }: EpisodeStep): Screen {
  const shown = predictions.findLast(({ isError }) => !isError);
  return { ...screen, tree: shown?.observation ?? screen.tree, picture };
}

function callOf({ action: { toolCalls = [] }, predictions }: EpisodeStep): ToolCall | undefined {
  const isDone = toolCalls.length === 1 && predictions.every(({ isError }) => !isError);
  return isDone ? toolCalls[0] : undefined;
}

interface Moment {
  readonly at: number;
  readonly call: ToolCall;
  readonly screen: Screen;
  readonly done: readonly string[];
}

function rowOf(context: FormatContext, record: EpisodeRecord, { at, call, screen, done }: Moment): JsonObject {
  const { goal, tree, picture } = screen;
  const image = picture && context.picture?.(picture.image);
  if (picture !== undefined && image === undefined) context.adapt('a picture is not beside the episodes any more');
  const { id, task, family, seed, source, verdict } = record;
  const action = actionLine(call);
  const before = done.length === 0 ? [] : [`Done so far:\n${done.join('\n')}`];
  const seen = [goal, ...before, tree].join('\n\n');
  const content: JsonObject[] = [...(image === undefined ? [] : [{ type: 'image' }]), { type: 'text', text: seen }];
  return {
    messages: [
      { role: 'system', content: [{ type: 'text', text: context.domain.policy }] },
      { role: 'user', content },
      { role: 'assistant', content: [{ type: 'text', text: action }] },
    ],
    images: image === undefined ? [] : [{ bytes: image, path: picture!.image.split('/').at(-1)! }],
    ...{ goal, observation: tree, action, targets: targetsOf(call, screen) },
    ...{ width: picture?.width ?? null, height: picture?.height ?? null },
    ...{ id, task, family, seed, step: at, source, reward: verdict.reward },
  };
}

/** The elements that an action names; what is not told of one is null. */
function targetsOf({ name, arguments: given }: ToolCall, { tree, picture }: Screen): JsonObject[] {
  return elementKeys(name).map((argument) => {
    const bid = String(given[argument]);
    const { role = null, name: called = null } = elementIn(tree, bid) ?? {};
    return { argument, bid, role, name: called, bbox: picture?.boxes[bid] ?? null };
  });
}

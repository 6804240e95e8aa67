// What an agent of tools may choose from without writing anything: calls under their schemas whose arguments are copied from what has
// been said and answered so far, questions for what such calls need, and what is said at the end. What a schema lists is tried in every
// way, other values are copied by how they look: right and wrong calls are all on offer, and nobody says which are which.

import type { JsonObject } from '../../core/json.js';
import type { CallSpec, Message, ToolSpec, ToolsAction, ToolsTask } from '../../env/index.js';
import { CLOSING, QUESTION, questionFor } from '../episodes/agents/reference-agent.js';
import {
  type ArgumentForm,
  argumentForm,
  fillings,
  type NamedValues,
  namedValues,
  type TextForm,
  textForm,
} from './argument-forms.js';

/** A turn of one call, or of something said. */
export interface ChosenAction {
  readonly content: string | null;
  readonly call?: CallSpec;
}

/** One thing that can be done now. */
export interface Choice {
  /** As a policy of text reads it (`choiceText`); unique among the choices of a moment. */
  readonly text: string;
  readonly action: ChosenAction;
}

/** What an agent may do at a moment: one of what is listed, or, with a schema, what it writes under that. */
export interface OfferedActions {
  readonly admissible: readonly string[];
  /** A JSON Schema of texts; then nothing is listed. */
  readonly schema?: JsonObject;
  /** The action that a text is; undefined if it is none of these. */
  actionOf(text: string): ChosenAction | undefined;
}

/** How actions of an agent of tools are told as texts. */
export interface ActionForms {
  offer(messages: readonly Message[]): OfferedActions;
  textOf(action: ChosenAction): string;
  /** What a text is a case of, in a word that tasks share. */
  kindOf(text: string): string;
}

/** The action in a line: a call's tool and values, or what is asked or said. */
export function choiceText({ content, call }: ChosenAction): string {
  if (call !== undefined) return [call.name, ...Object.values(call.arguments).map(plain)].join(' ');
  return `${content?.startsWith(QUESTION) ? 'ask' : 'say'} ${content}`;
}

/** The first call of an action, or what it says. */
export function chosenOf({ content, toolCalls }: ToolsAction): ChosenAction {
  const [call] = toolCalls ?? [];
  return call === undefined ? { content } : { content: null, call: { name: call.name, arguments: call.arguments } };
}

interface CallForm {
  readonly tool: string;
  readonly arguments: readonly ArgumentForm[];
}

/** Choices of one moment. */
const MOST_CHOICES = 250;
/** Values of one kind that are tried, the latest first; fewer where there would be too many choices. */
const MOST_VALUES = [8, 6, 5, 4, 3, 2, 1];

export class CallForms implements ActionForms {
  private readonly calls: readonly CallForm[];
  private readonly sayings: readonly TextForm[];
  private readonly questions: readonly string[];

  /** @param tasks  whose solutions may be learned from: which optional arguments go together, how free values look, what is said */
  constructor(tools: readonly ToolSpec[], tasks: readonly ToolsTask[]) {
    const made = tasks.flatMap(({ reference }) => reference?.calls ?? []);
    this.calls = tools.flatMap((tool) =>
      formsOf(
        tool,
        made.filter(({ name }) => name === tool.name),
      ),
    );
    const said = tasks.flatMap(({ reference }) => (reference?.say === undefined ? [] : [reference.say]));
    this.sayings = [...new Set([CLOSING, ...said])].map(textForm);
    this.questions = [...new Set(this.calls.flatMap(asked))].sort();
  }

  /** In an order of their own; the same conversation has the same choices. */
  at(messages: readonly Message[]): Choice[] {
    const named = namedValues(messages);
    let choices: Choice[] = [];
    for (const most of MOST_VALUES) {
      choices = this.filled(named, most);
      if (choices.length <= MOST_CHOICES) break;
    }
    return choices.slice(0, MOST_CHOICES);
  }

  offer(messages: readonly Message[]): OfferedActions {
    const choices = new Map(this.at(messages).map(({ text, action }) => [text, action]));
    return { admissible: [...choices.keys()], actionOf: (text) => choices.get(text) };
  }

  textOf(action: ChosenAction): string {
    return choiceText(action);
  }

  kindOf(text: string): string {
    return text.split(' ')[0];
  }

  private filled(named: NamedValues, most: number): Choice[] {
    const asks = this.questions.map((content) => choiceOf({ content }));
    // What was named last of each kind: a saying has many places, and their values are seldom mixed.
    const says = this.sayings.flatMap((form) => fillings(form, named, 1).map((content) => choiceOf({ content })));
    const calls = this.calls.flatMap((form) => callsOf(form, named, most));
    return [...new Map([...says, ...asks, ...calls].map((choice) => [choice.text, choice])).values()];
  }
}

function choiceOf(action: ChosenAction): Choice {
  return { text: choiceText(action), action };
}

/** With what is required, with each further argument, and with those that solutions give together. */
function formsOf({ name, parameters }: ToolSpec, made: readonly CallSpec[]): CallForm[] {
  const { properties = {}, required = [] } = parameters as {
    readonly properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly required?: readonly string[];
  };
  const keys = Object.keys(properties);
  const further = keys.filter((key) => !required.includes(key)).map((key) => [...required, key]);
  const given = made.map((call) => Object.keys(call.arguments));
  const sets = new Map([[...required], ...further, ...given].map((set) => [[...set].sort().join(), set]));
  return [...sets.values()].map((set) => ({
    tool: name,
    arguments: keys
      .filter((key) => set.includes(key))
      .map((key) =>
        argumentForm(
          key,
          properties[key],
          made.map((call) => call.arguments[key] ?? null),
        ),
      ),
  }));
}

function callsOf({ tool, arguments: forms }: CallForm, named: NamedValues, most: number): Choice[] {
  let made: CallSpec['arguments'][] = [{}];
  for (const form of forms) {
    const options = form.options(named, most);
    made = made.flatMap((given) => options.map((value) => ({ ...given, [form.name]: value })));
  }
  return made.map((given) => choiceOf({ content: null, call: { name: tool, arguments: given } }));
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What has to be known for a call of the form: each of its ids, and all of them together. */
function asked({ arguments: forms }: CallForm): string[] {
  const ids = forms.flatMap(({ name, isCopied }) => (isCopied ? [name] : []));
  const subsets = ids.length > 1 ? [...ids.map((id) => [id]), ids] : ids.map((id) => [id]);
  return subsets.map(questionFor);
}

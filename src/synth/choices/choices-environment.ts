// A world of tools as one of text: at each moment the agent chooses one of the listed calls, questions and sayings, as it would choose a
// command, or writes an action under a schema. Everything else is the environment's own: who answers, the user, the clock, the verdict.

import type { EnvSnapshot, Info, ResetResult, StepResult } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { sha256 } from '../../core/hash.js';
import type { TextSpace } from '../../core/spaces.js';
import type {
  ForkOptions,
  LineEnvironment,
  Message,
  ToolsEpisodeEnvironment,
  ToolsObservation,
  ToolsResetOptions,
} from '../../env/index.js';
import type { ActionForms, OfferedActions } from './call-forms.js';

const SPACE: TextSpace = { type: 'text', maxLength: 1_000_000 };

/**
 * The action is the text of a choice. `info.admissible` lists those there are, or `info.schema` says what may be written; `info.stateHash` is of
 * state and of what was done.
 */
export class ChoicesEnvironment implements LineEnvironment {
  readonly family = 'text' as const;
  readonly observationSpace = SPACE;
  readonly actionSpace = SPACE;
  private offered: OfferedActions = { admissible: [], actionOf: () => undefined };

  constructor(
    readonly tools: ToolsEpisodeEnvironment,
    private readonly forms: ActionForms,
  ) {}

  get id(): string {
    return this.tools.id;
  }

  get maxEpisodeSteps(): number {
    return this.tools.maxEpisodeSteps;
  }

  async reset(options: ToolsResetOptions = {}, signal?: AbortSignal): Promise<ResetResult<string>> {
    const { observation, info } = await this.tools.reset(options, signal);
    return { observation: textOf(observation), info: this.shown(info) };
  }

  /** @throws ACTION_OUT_OF_SPACE for a text that is none of what was offered; what the environment throws */
  async step(text: string, signal?: AbortSignal): Promise<StepResult<string>> {
    const chosen = this.offered.actionOf(text);
    if (chosen === undefined) {
      const hint = 'Choose one of info.admissible, or write what info.schema allows.';
      throw reverieError('ACTION_OUT_OF_SPACE', { action: text, space: 'the choices of the moment', hint });
    }
    const { content, call } = chosen;
    const id = `call_${this.tools.messages.length}`;
    const action = call === undefined ? { content } : { content, toolCalls: [{ id, ...call }] };
    const { observation, info, ...result } = await this.tools.step(action, signal);
    return { ...result, observation: textOf(observation), info: this.shown(info) };
  }

  kindOf(text: string): string {
    return this.forms.kindOf(text);
  }

  snapshot(): EnvSnapshot {
    return this.tools.snapshot();
  }

  restore(snapshot: EnvSnapshot, fork: ForkOptions = {}): string {
    const text = textOf(this.tools.restore(snapshot, fork));
    this.shown({});
    return text;
  }

  mark(): () => void {
    const { offered } = this;
    const takeBack = this.tools.mark();
    return () => {
      takeBack();
      this.offered = offered;
    };
  }

  close(): void {
    this.tools.close();
  }

  private shown(info: Info): Info {
    const { messages } = this.tools;
    this.offered = this.forms.offer(messages);
    const { admissible, schema } = this.offered;
    const stateHash = sha256(String(info.stateHash), JSON.stringify(messages.map(done)));
    return { ...info, stateHash, admissible, ...(schema && { schema }) };
  }
}

/** What was said and called, without what came of it: that is in the state, or in what was said. */
function done({ role, content, ...rest }: Message): unknown {
  return role === 'tool' ? null : [role, content, 'toolCalls' in rest ? rest.toolCalls : null];
}

function textOf({ messages }: ToolsObservation): string {
  return messages.flatMap(({ role, content }) => (role === 'user' || role === 'tool' ? [content] : [])).join('\n');
}

// What the page and its server say to each other: plain JSON, and nothing else imported, as both sides compile it.

export type WireJson = null | boolean | number | string | readonly WireJson[] | { readonly [key: string]: WireJson };

/** How often each backend answered, by its name. */
export type Shares = Readonly<Record<string, number>>;

export interface SessionRow {
  /** Names it among the sessions of all owners. */
  readonly key: string;
  readonly id: string;
  readonly env: string;
  readonly owner: string;
  readonly source: 'real' | 'dream';
  readonly status: 'idle' | 'running' | 'done';
  readonly task: string | null;
  readonly seed: number | null;
  readonly stepCount: number;
  readonly return: number | null;
  readonly parent?: string;
  /** Milliseconds since the epoch. */
  readonly lastUsedAt: number;
}

export interface EnvironmentRow {
  readonly name: string;
  readonly family: string;
  readonly source: 'real' | 'dream';
  readonly description: string;
  readonly tasks: number;
  readonly sessions: number;
  readonly steps: number;
  readonly episodes: number;
  readonly failures: number;
  readonly answered: Shares;
}

export interface LiveView {
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly counts: { readonly open: number; readonly active: number; readonly waiting: number; readonly slots: number };
  readonly environments: readonly EnvironmentRow[];
  /** The most recently used. */
  readonly sessions: readonly SessionRow[];
  /** How many there are in all. */
  readonly sessionsInAll: number;
}

export interface ToolCallView {
  readonly id: string;
  readonly name: string;
  readonly arguments: WireJson;
}

export interface MessageView {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | null;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCallView[];
  readonly name?: string;
  readonly isError?: boolean;
}

/** A change of the hidden state at one place. */
export interface ChangeView {
  readonly op: string;
  /** JSON Pointer. */
  readonly path: string;
  /** Absent where it was removed. */
  readonly after?: WireJson;
}

export interface AnswerView {
  readonly tool: string;
  readonly backend: string;
  readonly modelVersion: string;
  readonly confidence: number;
  readonly why: readonly string[];
  readonly isError: boolean;
  readonly refused?: readonly string[];
  readonly repaired?: boolean;
  readonly reasoning?: string;
  readonly changes: readonly ChangeView[];
}

export interface TurnView {
  /** Steps taken before and with it; 0 is where the episode began. */
  readonly step: number;
  /** Family `vector`: a row; `text`: a line; `tools`: absent, as it is in the messages. */
  readonly action?: readonly number[] | string;
  /** Family `vector`: a row; `text`: what is shown. */
  readonly observation?: readonly number[] | string;
  /** What was said in this step, the agent's message first. */
  readonly messages: readonly MessageView[];
  readonly reward: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly answers: readonly AnswerView[];
  readonly stateHash?: string;
  readonly seconds: number;
  /** What else the environment says of the step. */
  readonly info: Readonly<Record<string, WireJson>>;
}

export interface VerdictView {
  readonly reward: number | null;
  readonly judge?: string;
  readonly checks: readonly { readonly name: string; readonly passed: boolean | null; readonly reason: string }[];
}

/** The episode of a session. */
export interface EpisodeView {
  readonly title: string;
  readonly env: string;
  readonly family: 'vector' | 'text' | 'tools' | 'screen';
  readonly source: 'real' | 'dream';
  readonly task: string | null;
  readonly seed: number | null;
  readonly status: string;
  readonly return: number | null;
  readonly turns: readonly TurnView[];
  readonly verdict?: VerdictView;
  /** What cannot be shown, and why. */
  readonly notes: readonly string[];
  /** Key of the session. */
  readonly session: string;
  /** Key of the session it was forked from. */
  readonly parent?: string;
}

/** A space of numbers, for each element its bounds. */
export interface RowSpace {
  readonly discrete?: { readonly n: number; readonly start: number };
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

/** What one must know to play an environment by hand. */
export interface PlayableView {
  readonly name: string;
  readonly family: 'vector' | 'text' | 'tools' | 'screen';
  readonly source: 'real' | 'dream';
  readonly description: string;
  readonly tasks: readonly { readonly id: string; readonly split: string }[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly parameters: WireJson }[];
  readonly actions?: RowSpace;
  readonly observations?: RowSpace;
  readonly maxEpisodeSteps?: number;
}

export interface RunRow {
  /** Folder below the root of runs, with forward slashes; `.` is the root itself. */
  readonly path: string;
  readonly job: string;
  readonly status: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** File below the root of runs. */
  readonly report?: string;
}

export interface RunsView {
  /** null: no folder of runs is shown. */
  readonly root: string | null;
  readonly runs: readonly RunRow[];
}

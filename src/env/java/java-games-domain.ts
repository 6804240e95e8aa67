// Games of a jar as a domain of the one tool `act`. The typed state is what the game shows and has shown of other places, and the commands
// that led there, from which any other process comes to the same moment.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { nearest, type ReverieError, reverieError } from '../../core/errors.js';
import { sha256 } from '../../core/hash.js';
import type { Json, JsonObject } from '../../core/json.js';
import { type ActGame, type ActRules, actDomain, type Begun } from '../tools/act-domain.js';
import type { CheckResult, EpisodeEnd, ToolOutcome, ToolsDomain } from '../tools/domain.js';
import type { ToolCall } from '../tools/message.js';
import type { Operation } from '../tools/prediction.js';
import { nothingShown, type ShownMoment, type ShownState, shownChanges, shownSchema } from '../tools/shown-state.js';
import type { FoundJar } from './find-jar.js';
import type { JavaForm, JavaMoment } from './java-form.js';
import { JavaMachine } from './java-machine.js';
import { JavaPlays } from './java-plays.js';

export interface JavaGamesOptions<G extends ActGame> {
  readonly id: string;
  readonly games: readonly G[];
  readonly jar: FoundJar;
  readonly form: JavaForm<G>;
  /** Settings that change what the games are. */
  readonly settings?: Json;
  /** Longest time for an answer before the Java process counts as hung; 120. */
  readonly timeoutSeconds?: number;
}

/** Changes whenever the same command in the same game could be answered otherwise. */
const RULES_VERSION = '2';
const TIMEOUT_SECONDS = 120;

/** No Java process is started before a game is played. */
export function javaGamesDomain<G extends ActGame>(options: JavaGamesOptions<G>): ToolsDomain {
  const { id, games, jar, form, settings = null } = options;
  const version = sha256(sha256(readFileSync(jar.jar)), JSON.stringify(settings));
  const rules = new JavaRules(options, `${id} games ${RULES_VERSION}`);
  const domain = actDomain({
    id,
    games,
    version,
    rules,
    stateSchema: shownSchema(isListed(form)),
    initialState: nothingShown(isListed(form)),
    paysCalls: true,
  });
  const held = games.every((game) => form.isolated(game)) ? form.seats.isolated : form.seats.shared;
  // One is left for what is asked beside the episodes, such as walkthroughs.
  return { ...domain, sideBySide: Math.max(1, held - 1) };
}

/** What a jar has none of: a game, a task, a fold. */
export function javaGameUnknown(what: string, kind: string, value: string, known: readonly string[]): ReverieError {
  const values = { what, kind, value, nearest: nearest(value, known) ?? known[0], known: known.join(', ') };
  return reverieError('JAVA_GAME_UNKNOWN', values);
}

class JavaRules<G extends ActGame> implements ActRules {
  readonly tools: ReadonlySet<string> = new Set(['act']);
  readonly refusesItself = true;
  private readonly games: ReadonlyMap<string, G>;
  private readonly plays: JavaPlays<G>;
  private readonly isListed: boolean;

  constructor(
    { games, jar, form, timeoutSeconds = TIMEOUT_SECONDS }: JavaGamesOptions<G>,
    readonly version: string,
  ) {
    this.games = new Map(games.map((game) => [game.id, game]));
    const machine = new JavaMachine({ classPath: jar.py4j, folder: path.dirname(jar.jar) }, timeoutSeconds);
    this.isListed = isListed(form);
    this.plays = new JavaPlays(machine, form, jar.jar);
  }

  begin(id: string): Begun {
    const { goal, ...moment } = this.plays.begin(this.games.get(id)!);
    const game: Operation = { op: 'replace', path: '/game', value: id };
    const shown = shownChanges(nothingShown(this.isListed), this.shownMoment(moment));
    return { opening: moment.observation, goal, operations: [game, ...shown] };
  }

  walkthrough(id: string): readonly string[] {
    return this.plays.walkthrough(this.games.get(id)!);
  }

  execute(state: JsonObject, { arguments: { text } }: ToolCall): ToolOutcome {
    const before = state as unknown as ShownState;
    const game = this.games.get(before.game);
    if (game === undefined || before.done) {
      return { operations: [], observation: before.done ? 'The game has ended.' : 'No game has begun.', isError: true };
    }
    const command = String(text);
    const moment = this.plays.step(game, before.history, command);
    return {
      operations: moment.isIdle ? [] : shownChanges(before, this.shownMoment(moment), command),
      observation: moment.observation,
      isError: moment.isError ?? false,
      reward: moment.score - before.score,
      terminated: moment.done,
    };
  }

  admissible(state: JsonObject): readonly string[] {
    const { game: id, history, done, admissible } = state as unknown as ShownState;
    // A dreamt state tells its own: no game stands there.
    if (admissible !== undefined) return admissible;
    const game = this.games.get(id);
    return game === undefined || done ? [] : this.plays.admissible(game, history);
  }

  progress(state: JsonObject): number {
    return Math.max(0, (state as unknown as ShownState).score);
  }

  preconditions(): readonly string[] {
    return [];
  }

  invariants(): readonly string[] {
    return [];
  }

  check(name: string, { finalState }: EpisodeEnd): CheckResult {
    const { success, score } = finalState as unknown as ShownState;
    return {
      name,
      passed: success,
      reason: success ? 'the game was won' : `the game was not won, its score is ${score}`,
    };
  }

  close(): void {
    this.plays.close();
  }

  /** What of a moment is part of the state. */
  private shownMoment({ look, inventory, score, done, success, admissible = [] }: JavaMoment): ShownMoment {
    const listed = done ? [] : [...admissible].sort();
    return { look, inventory, score, done, success, ...(this.isListed && { admissible: listed }) };
  }
}

/** Whether games tell their commands with each moment. */
function isListed(form: Pick<JavaForm<never>, 'admissible'>): boolean {
  return form.admissible === undefined;
}

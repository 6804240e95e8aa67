// Short errands in the inn of `packs/cellar`, under its exact rules: bring a thing that lies in one place to another, no
// further than the next room. A thing and a place that meet in a task of the training split never meet in one of the test
// split, so that what is held out is held out in wording and solution alike.

import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Rng } from '../src/core/rng.js';

/** An episode that is cut at this many commands is lost. */
export const MOST_COMMANDS = 8;
/** Calls of the longest solution. */
const LONGEST = 5;
/** One task in three is held out. */
const HELD_OUT = 3;
const HOW = 'Commands: go to [room or place], open [place], take [thing] from [place], put [thing] in/on [place].';

interface Place {
  readonly id: string;
  readonly kind: string;
  readonly room: string;
  readonly openable: boolean;
}

interface Inn {
  readonly player: { readonly room: string };
  readonly rooms: Readonly<Record<string, { readonly doors: readonly string[] }>>;
  readonly receptacles: Readonly<Record<string, Place>>;
  readonly objects: Readonly<Record<string, { readonly id: string; readonly kind: string; readonly in: string }>>;
}

interface Errand {
  readonly thing: Inn['objects'][string];
  readonly from: Place;
  readonly to: Place;
  readonly calls: readonly string[];
}

/**
 * Writes the scenario `errands` with tasks for training and `tests` held-out ones.
 * @param root of the repository
 */
export async function writeErrands(root: string, folder: string, trains: number, tests: number): Promise<void> {
  const pack = join(root, 'packs', 'cellar');
  await mkdir(folder, { recursive: true });
  for (const file of ['policy.md', 'tools.yaml', 'state.json', 'state.schema.json', 'rules.js', 'phrases.yaml'])
    await cp(join(pack, file), join(folder, file));
  const inn = JSON.parse(await readFile(join(pack, 'state.json'), 'utf8')) as Inn;
  const tasks = errandsOf(inn, { train: trains, test: tests });
  await writeFile(join(folder, 'tasks.yaml'), `${JSON.stringify(tasks, null, 1)}\n`);
  const scenario = { family: 'tools', name: 'errands', model: { kind: 'tools', backends: ['rules'] } };
  await writeFile(
    join(folder, 'scenario.yaml'),
    `${JSON.stringify({ ...scenario, synth: { maxSteps: MOST_COMMANDS } })}\n`,
  );
}

function errandsOf(inn: Inn, wanted: Readonly<Record<'train' | 'test', number>>) {
  const rng = Rng.fromSeed(15).split('errands');
  const left = { ...wanted };
  const things = Object.values(inn.objects);
  const places = Object.values(inn.receptacles);
  const seen = new Set<string>();
  const tasks = [];
  while (left.train + left.test > 0) {
    const thing = things[rng.int(things.length)];
    const from = places[rng.int(places.length)];
    const to = places[rng.int(places.length)];
    const split = isHeldOut(things.indexOf(thing), places.indexOf(to)) ? 'test' : 'train';
    const calls = solution(inn, thing.id, from, to);
    const name = [thing.id, from.id, to.id].join(' ').replaceAll(' ', '-');
    const isFit = calls !== undefined && calls.length <= LONGEST && from.kind !== to.kind && !isDone(inn, thing, to);
    if (!isFit || seen.has(name) || left[split] === 0) continue;
    seen.add(name);
    left[split] -= 1;
    tasks.push(taskOf(inn, name, split, { thing, from, to, calls }));
  }
  return tasks;
}

/** Each thing is kept from a third of the places. */
function isHeldOut(thing: number, place: number): boolean {
  return (thing + place) % HELD_OUT === 0;
}

/** Something of the kind lies in a place of the kind from the beginning, which is all that the verifier looks at. */
function isDone({ objects, receptacles }: Inn, thing: Errand['thing'], to: Place): boolean {
  return Object.values(objects).some((one) => one.kind === thing.kind && receptacles[one.in].kind === to.kind);
}

/** From the room in which the inn begins; undefined where a room is not next to the one before. */
function solution({ player, rooms }: Inn, thing: string, from: Place, to: Place): string[] | undefined {
  const visit = (place: Place, room: string) => [
    ...(place.room === room ? [] : [`go to ${place.room}`]),
    `go to ${place.id}`,
    ...(place.openable ? [`open ${place.id}`] : []),
  ];
  const isNear = (room: string, next: string) => room === next || rooms[room].doors.includes(next);
  if (!isNear(player.room, from.room) || !isNear(from.room, to.room)) return undefined;
  const [there, onwards] = [visit(from, player.room), visit(to, from.room)];
  return [...there, `take ${thing} from ${from.id}`, ...onwards, `put ${thing} in/on ${to.id}`];
}

function taskOf(inn: Inn, id: string, split: string, { thing, from, to, calls }: Errand) {
  const wish = `Bring the ${thing.id} from the ${from.id} (${from.room}) to the ${to.id} (${to.room}).`;
  const act = (text: string) => ({ name: 'act', arguments: { text } });
  const say = 'I am done.';
  const other = Object.values(inn.objects).find((one) => one.in === from.id && one.kind !== thing.kind);
  return {
    ...{ id, family: `${thing.id} to ${to.id}`.replaceAll(' ', '-'), split },
    user: {
      opening: `You are in the ${inn.player.room}. ${HOW} The innkeeper says: ${wish}`,
      goal: `You are the innkeeper. You want: ${wish} You only wait until it is done.`,
      script: [
        { when: '\\bdone\\b', say: 'Thank you.', done: true },
        { say: 'Let us leave it.', done: true },
      ],
    },
    initialOperations: [
      { op: 'replace', path: '/goal', value: { object: thing.kind, state: 'any', target: to.kind, count: 1 } },
      ...(thing.in === from.id
        ? []
        : [
            { op: 'remove', path: `/receptacles/${thing.in}/contains/${thing.id}` },
            { op: 'add', path: `/receptacles/${from.id}/contains/${thing.id}`, value: true },
            { op: 'replace', path: `/objects/${thing.id}/in`, value: from.id },
          ]),
    ],
    verifier: { checks: ['goal_reached'] },
    reference: { calls: calls.map(act), say },
    failures: [
      { name: 'does nothing and says it is done', calls: [act('look')], say },
      { name: 'leaves out the last step', calls: calls.slice(0, -1).map(act), say },
      { name: 'puts it back where it was', calls: backAgain(calls, thing.id, from.id).map(act), say },
      ...(other === undefined
        ? []
        : [
            {
              name: 'takes the wrong thing',
              calls: calls.map((call) => act(call.replaceAll(thing.id, other.id))),
              say,
            },
          ]),
    ],
  };
}

function backAgain(calls: readonly string[], thing: string, from: string): string[] {
  const taken = calls.findIndex((call) => call.startsWith('take '));
  return [...calls.slice(0, taken + 1), `put ${thing} in/on ${from}`];
}

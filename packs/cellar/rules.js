// An inn with a cellar, played by text: what each command does, exactly. A command that is not understood, or that cannot
// be done here and now, changes nothing and is answered "Nothing happens."

const NOTHING = 'Nothing happens.';
const DEVICES = { clean: 'sink', heat: 'stove', cool: 'icebox' };

const has = (map, id) => Object.hasOwn(map, id);
const namesIn = (map) =>
  Object.keys(map)
    .filter((id) => map[id])
    .sort();

function list(names) {
  if (names.length === 0) return 'nothing';
  const each = names.map((name) => `a ${name}`);
  return each.length === 1 ? each[0] : `${each.slice(0, -1).join(', ')}, and ${each.at(-1)}`;
}

/** The receptacle the player stands at, if it is this one and can be reached into. */
function reachable(state, id) {
  const place = state.player.at === id ? state.receptacles[id] : undefined;
  return place && (!place.openable || place.open) ? place : undefined;
}

function describe(place) {
  if (place.openable && !place.open) return `The ${place.id} is closed.`;
  const where = place.openable ? `The ${place.id} is open. In it` : `On the ${place.id}`;
  return `${where}, you see ${list(namesIn(place.contains))}.`;
}

function describeRoom(state, room) {
  const here = Object.values(state.receptacles).filter((place) => place.room === room);
  return `You are in the ${room}. Looking around you, you see ${list(here.map(({ id }) => id).sort())}. Doors lead to: ${state.rooms[room].doors.join(', ')}.`;
}

function goTo(state, target) {
  const { player, rooms, receptacles } = state;
  if (has(rooms, target)) {
    if (!rooms[player.room].doors.includes(target)) return NOTHING;
    player.room = target;
    player.at = null;
    return describeRoom(state, target);
  }
  if (!has(receptacles, target) || receptacles[target].room !== player.room || player.at === target) return NOTHING;
  player.at = target;
  return `You arrive at the ${target}. ${describe(receptacles[target])}`;
}

function setOpen(state, id, open) {
  const place = state.player.at === id ? state.receptacles[id] : undefined;
  if (!place?.openable || place.open === open) return NOTHING;
  place.open = open;
  return open ? `You open the ${id}. ${describe(place)}` : `You close the ${id}.`;
}

function take(state, object, from) {
  const place = reachable(state, from);
  if (state.player.holding !== null || !place || !has(place.contains, object)) return NOTHING;
  delete place.contains[object];
  state.objects[object].in = null;
  state.player.holding = object;
  return `You pick up the ${object} from the ${from}.`;
}

function put(state, object, into) {
  const place = reachable(state, into);
  if (state.player.holding !== object || !place) return NOTHING;
  place.contains[object] = true;
  state.objects[object].in = into;
  state.player.holding = null;
  return `You put the ${object} in/on the ${into}.`;
}

const CHANGES = {
  clean: (object) => ({ clean: true, temperature: object.temperature === 'hot' ? 'room' : object.temperature }),
  heat: () => ({ temperature: 'hot' }),
  cool: () => ({ temperature: 'cold' }),
};

function treat(state, verb, object, device) {
  const place = state.player.at === device ? state.receptacles[device] : undefined;
  if (state.player.holding !== object || place?.kind !== DEVICES[verb]) return NOTHING;
  Object.assign(state.objects[object], CHANGES[verb](state.objects[object]));
  return `You ${verb} the ${object} using the ${device}.`;
}

function useLamp(state, lamp) {
  const there = state.receptacles[state.player.at]?.contains ?? {};
  if (state.objects[lamp]?.kind !== 'lamp' || !has(there, lamp)) return NOTHING;
  state.objects[lamp].lit = !state.objects[lamp].lit;
  return `You turn ${state.objects[lamp].lit ? 'on' : 'off'} the ${lamp}.`;
}

function examine(state, name) {
  const object = state.objects[name];
  const place = state.player.at === name ? state.receptacles[name] : undefined;
  if (place) return describe(place);
  const isNear =
    object && (state.player.holding === name || has(reachable(state, state.player.at)?.contains ?? {}, name));
  if (!isNear) return NOTHING;
  if (object.kind === 'lamp') return `The ${name} is ${object.lit ? 'on' : 'off'}.`;
  return `The ${name} is ${object.clean ? 'clean' : 'dirty'} and ${object.temperature === 'room' ? 'at room temperature' : object.temperature}.`;
}

function look(state) {
  const { at, room } = state.player;
  return at === null ? describeRoom(state, room) : `You are at the ${at}. ${describe(state.receptacles[at])}`;
}

const COMMANDS = [
  [/^look$/, look],
  [/^inventory$/, ({ player }) => `You are carrying: ${player.holding === null ? 'nothing' : `a ${player.holding}`}.`],
  [/^go to (.+)$/, goTo],
  [/^open (.+)$/, (state, id) => setOpen(state, id, true)],
  [/^close (.+)$/, (state, id) => setOpen(state, id, false)],
  [/^take (.+) from (.+)$/, take],
  [/^put (.+) (?:in\/on|in|on) (.+)$/, put],
  [/^(clean|heat|cool) (.+) with (.+)$/, treat],
  [/^use (.+)$/, useLamp],
  [/^examine (.+)$/, examine],
];

export const tools = {
  act(state, { text }) {
    const command = text.trim().toLowerCase().replace(/\s+/g, ' ');
    for (const [pattern, run] of COMMANDS) {
      const match = pattern.exec(command);
      if (match) return run(state, ...match.slice(1));
    }
    return NOTHING;
  },
};

export const preconditions = {};

export const invariants = [
  (_before, after) => {
    for (const { id, in: place } of Object.values(after.objects)) {
      const isHeld = after.player.holding === id;
      if ((place === null) !== isHeld) return `${id} is neither held nor anywhere, or both`;
      if (place !== null && !has(after.receptacles[place]?.contains ?? {}, id))
        return `${id} is not where it says it is`;
    }
    return null;
  },
  (_before, after) => {
    for (const place of Object.values(after.receptacles)) {
      const astray = Object.keys(place.contains).find((id) => after.objects[id]?.in !== place.id);
      if (astray) return `${place.id} holds ${astray}, which does not say so`;
      if (!place.openable && place.open) return `${place.id} cannot be open`;
    }
    return null;
  },
  (_before, after) => {
    const { at, room } = after.player;
    return at !== null && after.receptacles[at]?.room !== room
      ? 'The player stands at something in another room'
      : null;
  },
  (before, after) => {
    const same = (key) => Object.keys(before[key]).sort().join() === Object.keys(after[key]).sort().join();
    return same('objects') && same('receptacles') && same('rooms') ? null : 'Nothing is made or destroyed here';
  },
];

const FITS = {
  any: () => true,
  clean: ({ clean }) => clean,
  hot: ({ temperature }) => temperature === 'hot',
  cold: ({ temperature }) => temperature === 'cold',
};

/** How many objects are as the goal of the state wants them. */
function reached({ goal, objects, receptacles }) {
  return Object.values(objects).filter(
    (object) =>
      object.kind === goal.object &&
      FITS[goal.state](object) &&
      object.in !== null &&
      receptacles[object.in].kind === goal.target,
  ).length;
}

export const checks = {
  goal_reached({ finalState }) {
    const { goal } = finalState;
    const n = reached(finalState);
    const passed = n >= goal.count;
    return { passed, reason: `${n} of ${goal.count} ${goal.object} (${goal.state}) in/on a ${goal.target}` };
  },
  held_up_to_lamp({ finalState }) {
    const { player, objects, receptacles, goal } = finalState;
    const lamps = Object.keys(receptacles[player.at]?.contains ?? {}).filter((id) => objects[id].lit);
    const passed = lamps.length > 0 && player.holding !== null && objects[player.holding].kind === goal.object;
    return { passed, reason: passed ? 'it is held by a lamp that is on' : 'it is not held by a lamp that is on' };
  },
};

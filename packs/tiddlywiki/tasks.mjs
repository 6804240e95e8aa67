// The tasks: what a wiki begins with by seed, what is asked, and which notes there are once it is done.

import { pickBySeed } from 'reverie/extend';
import { SOLVERS } from './solvers.mjs';

const THINGS = [
  'Bread',
  'Garden',
  'Harbour',
  'Kettle',
  'Ladder',
  'Museum',
  'Orchard',
  'Piano',
  'Quilt',
  'Saddle',
  'Tunnel',
  'Violin',
];
const KINDS = ['plan', 'list', 'story', 'recipe', 'letter', 'visit', 'repair', 'lesson'];
const SAYINGS = [
  'Bring two lamps and a rope',
  'Ask the neighbour first',
  'It closes at noon on Fridays',
  'Three cups are enough',
  'The key lies under the stone',
  'Begin with the left side',
  'Nobody has seen it since May',
  'Paint it green before winter',
];
const TAGS = ['urgent', 'family', 'later', 'travel', 'home', 'music'];
const NOTES = 4;

function title(seed, what, taken) {
  for (let i = 0; ; i++) {
    const made = `${pickBySeed(THINGS, seed, `${what} thing ${i}`)} ${pickBySeed(KINDS, seed, `${what} kind ${i}`)}`;
    if (!taken.includes(made)) return made;
  }
}

/** Notes by title. */
function notesOf(seed) {
  const notes = {};
  for (let i = 0; i < NOTES; i++) {
    const name = title(seed, `note ${i}`, Object.keys(notes));
    notes[name] = { text: pickBySeed(SAYINGS, seed, `text ${i}`), tags: pickBySeed(TAGS, seed, `tag ${i}`), done: '' };
  }
  return notes;
}

const without = (notes, name) => Object.fromEntries(Object.entries(notes).filter(([one]) => one !== name));

/** Each makes of the notes and a seed what is asked, and the notes afterwards. */
const ASKED = {
  'write-note': ({ notes, seed }) => {
    const [name, text] = [title(seed, 'new', Object.keys(notes)), pickBySeed(SAYINGS, seed, 'new text')];
    return {
      goal: `Write a new note "${name}" that says "${text}".`,
      after: { ...notes, [name]: { text, tags: '', done: '' } },
    };
  },
  'tag-note': ({ notes, seed, name }) => {
    const tag = pickBySeed(
      TAGS.filter((one) => one !== notes[name].tags),
      seed,
      'new tag',
    );
    const tags = `${notes[name].tags} ${tag}`;
    return {
      goal: `Give the note "${name}" the further tag "${tag}".`,
      after: { ...notes, [name]: { ...notes[name], tags } },
    };
  },
  'delete-note': ({ notes, name }) => ({ goal: `Delete the note "${name}".`, after: without(notes, name) }),
  'rename-note': ({ notes, seed, name }) => {
    const other = title(seed, 'other', Object.keys(notes));
    return {
      goal: `Rename the note "${name}" to "${other}".`,
      after: { ...without(notes, name), [other]: notes[name] },
    };
  },
  'edit-note': ({ notes, seed, name }) => {
    const text = pickBySeed(
      SAYINGS.filter((one) => one !== notes[name].text),
      seed,
      'other text',
    );
    return { goal: `Make the note "${name}" say "${text}".`, after: { ...notes, [name]: { ...notes[name], text } } };
  },
  'tick-note': ({ notes, name }) => ({
    goal: `On the first page, tick the note "${name}".`,
    after: { ...notes, [name]: { ...notes[name], done: 'yes' } },
  }),
};

export const TASKS = Object.fromEntries(
  Object.entries(ASKED).map(([name, ask]) => [name, { begin: (seed) => begun(ask, seed), solve: SOLVERS[name] }]),
);

function begun(ask, seed) {
  const notes = notesOf(seed);
  const { goal, after } = ask({ notes, seed, name: pickBySeed(Object.keys(notes), seed, 'asked') });
  return { goal, files: filesOf(notes), wanted: after };
}

/** How the wiki is set up: fields of texts without a toolbar, which are parts of the page; nothing moves; a list of notes first. */
const SETUP = {
  '$:/config/TextEditor/EnableToolbar': 'no',
  '$:/config/AnimationDuration': '0',
  '$:/SiteTitle': 'Notebook',
  '$:/SiteSubtitle': '',
  '$:/DefaultTiddlers': 'Notes',
  Notes:
    '<$list filter="[!is[system]has[tags]!has[draft.of]sort[title]]">\n\n<$checkbox tiddler=<<currentTiddler>> field="done" checked="yes" unchecked=""> <$link/></$checkbox>\n\n</$list>',
};

function filesOf(notes) {
  const info = {
    plugins: ['tiddlywiki/tiddlyweb', 'tiddlywiki/filesystem'],
    themes: ['tiddlywiki/vanilla', 'tiddlywiki/snowwhite'],
  };
  const setup = Object.entries(SETUP).map(([name, text], i) => [
    `tiddlers/setup-${i}.tid`,
    `title: ${name}\n\n${text}\n`,
  ]);
  const written = Object.entries(notes).map(([name, { text, tags }], i) => [
    `tiddlers/note-${i}.tid`,
    `created: 2019120${i + 1}080000000\nmodified: 2019120${i + 1}080000000\ntags: ${tags}\ntitle: ${name}\n\n${text}`,
  ]);
  return { 'tiddlywiki.info': JSON.stringify(info), ...Object.fromEntries([...setup, ...written]) };
}

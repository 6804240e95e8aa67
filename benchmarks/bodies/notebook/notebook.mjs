// The notes of the pack `tiddlywiki` with the sidebar closed. It offers some thirty clicks that have nothing to do with a note, and what
// it opens offers more than a policy takes; a few real episodes would be spent there alone.

import { applicationDomain, definePlugin } from 'reverie/extend';
import { TIDDLYWIKI } from '../../../packs/tiddlywiki/index.mjs';

const SIDEBAR = { 'tiddlers/sidebar.tid': 'title: $:/state/sidebar\n\nno' };

function withoutSidebar({ begin, ...task }) {
  const begun = (seed) => {
    const { files, ...rest } = begin(seed);
    return { ...rest, files: { ...files, ...SIDEBAR } };
  };
  return { ...task, begin: begun };
}

const tasks = { 'tick-note': withoutSidebar(TIDDLYWIKI.tasks['tick-note']) };

export default definePlugin({ domains: [applicationDomain({ ...TIDDLYWIKI, id: 'notebook', tasks })] });

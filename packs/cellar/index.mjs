// The inn played by text, for any scenario: `domain: { id: cellar }`. The scenario beside it lives in it.

import { definePlugin, folderDomain } from 'reverie/extend';

const summary = 'An inn played by text, in the manner of ALFWorld: find things, carry, clean, heat and cool them.';

export default definePlugin({ domains: [folderDomain('cellar', summary, new URL('.', import.meta.url))] });

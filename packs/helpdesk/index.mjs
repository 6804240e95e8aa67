// A company's service desk, for any scenario: `domain: { id: helpdesk }`. The scenario beside it lives in it.

import { definePlugin, folderDomain } from 'reverie/extend';

const summary = "A company's service desk: eighteen tools over accounts, devices, licences and tickets.";

export default definePlugin({ domains: [folderDomain('helpdesk', summary, new URL('.', import.meta.url))] });

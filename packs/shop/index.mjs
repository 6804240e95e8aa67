// A shop of six pages, as a navigation graph: its pages, edges, data and tasks are all in shop.yaml.

import { definePlugin, screenGraphDomain } from 'reverie/extend';

const summary = 'A shop of six pages, without a browser.';

export default definePlugin({ domains: [screenGraphDomain('shop', summary, new URL('shop.yaml', import.meta.url))] });

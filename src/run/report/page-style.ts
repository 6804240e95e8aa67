// The report page's style sheet: one column of text, tabular figures, light and dark, down to a phone's width.

import { armProperties } from './arm-colours.js';

export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fdfcfa; --panel: #ffffff; --ink: #1d1c1a; --ink-soft: #6b6862; --rule: #ebe8e2; --rule-strong: #cfcbc2;
  ${armProperties('light')}
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #161615; --panel: #1d1d1b; --ink: #ece9e2; --ink-soft: #a19d94; --rule: #2c2b29; --rule-strong: #4a4844;
    ${armProperties('dark')}
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main { max-width: 52rem; margin: 0 auto; padding: 3.5rem 1.5rem 4rem; }
h1 { font-size: 2.1rem; line-height: 1.15; letter-spacing: -0.015em; margin: 0 0 0.8rem; text-wrap: balance; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 0; }
p { margin: 0 0 1rem; }
.lead { font-size: 1.15rem; line-height: 1.5; max-width: 40rem; text-wrap: pretty; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 3rem; margin: 2rem 0; padding: 0; list-style: none; }
.figures b { display: block; font-size: 2.4rem; line-height: 1.1; font-weight: 600; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; }
.figures span { color: var(--ink-soft); font-size: 0.85rem; }
.scroll { overflow-x: auto; margin: 2rem 0 0.5rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.86rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.5rem 0 0.5rem 1.4rem; text-align: right; vertical-align: baseline; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; text-align: left; }
table:has(th:nth-child(10)) :is(th, td) { padding-left: 0.75rem; }
table:has(th:nth-child(10)) :is(th, td):first-child { padding-left: 0; }
thead th { color: var(--ink-soft); font-weight: 500; border-bottom-color: var(--rule-strong); white-space: normal; vertical-align: bottom; line-height: 1.3; }
tbody th { font-weight: 600; white-space: normal; min-width: 7rem; }
td.text { white-space: normal; min-width: 12rem; }
section > h2 { margin: 3rem 0 0.8rem; }
.note { color: var(--ink-soft); font-size: 0.82rem; line-height: 1.45; }
.link { margin-top: 1.2rem; font-size: 0.92rem; }
.link a { color: inherit; font-weight: 600; }
figure { margin: 3rem 0 0; }
figcaption p { color: var(--ink-soft); font-size: 0.92rem; margin: 0.2rem 0 0; max-width: 40rem; text-wrap: pretty; }
.legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.4rem; margin: 0.7rem 0 0.4rem; padding: 0; list-style: none; font-size: 0.83rem; }
.legend i { display: inline-block; width: 1.3em; height: 3px; border-radius: 2px; margin-right: 0.5em; vertical-align: 0.25em; }
svg { display: block; width: 100%; height: auto; }
.narrow { display: none; }
.notes { margin-top: 3rem; padding-top: 1.2rem; border-top: 1px solid var(--rule-strong); }
.notes ul { padding-left: 1.1rem; margin: 0.5rem 0 0; }
.notes li { margin-bottom: 0.35rem; font-size: 0.95rem; }
.provenance { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1.4rem; margin: 2.5rem 0 0; font-size: 0.8rem; }
.provenance dt { color: var(--ink-soft); }
.provenance dd { margin: 0; overflow-wrap: anywhere; }
code { font: 0.95em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
@media (max-width: 34rem) {
  body { font-size: 16px; }
  main { padding: 2rem 1.1rem 3rem; }
  h1 { font-size: 1.65rem; }
  .figures { gap: 1rem 2rem; }
  .figures b { font-size: 1.9rem; }
  .wide { display: none; }
  .narrow { display: block; }
  .provenance { grid-template-columns: 1fr; gap: 0; }
  .provenance dd { margin-bottom: 0.6rem; }
}
@media print { main { padding: 0; } figure { break-inside: avoid; } }
dl.bars { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .3rem .9rem; margin: 0.8rem 0 0; align-items: center; font-size: .92rem; }
dl.bars dt { color: var(--ink-soft); overflow-wrap: anywhere; max-width: 16rem; }
dl.bars dd { margin: 0; display: flex; align-items: center; gap: .6rem; }
dl.bars dd span { position: relative; flex: 1; height: .95rem; }
dl.bars dd i { position: absolute; inset: 0 auto 0 0; background: var(--arm-0); border-radius: 2px; min-width: 1px; }
dl.bars dd s { position: absolute; top: 50%; height: 1px; background: var(--ink); text-decoration: none; }
dl.bars dd b { flex: 0 0 5.5rem; font-weight: 600; font-variant-numeric: tabular-nums; }
details.transcript { border-top: 1px solid var(--rule); padding: .5rem 0; }
details.transcript summary { cursor: pointer; }
details.transcript h3 { font-size: 0.95rem; margin: 1.1rem 0 0; padding-top: .6rem; border-top: 1px solid var(--rule); }
details.transcript ol { list-style: none; padding: 0; margin: .7rem 0; }
details.transcript li { display: grid; grid-template-columns: 6.5rem 1fr; gap: .8rem; padding: .35rem 0; }
details.transcript li > span { color: var(--ink-soft); font-size: .85rem; }
details.transcript small { display: block; font-size: .78rem; overflow-wrap: anywhere; }
details.transcript pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; font-size: .92rem; }
details.transcript li.assistant pre { border-left: 3px solid var(--arm-0); padding-left: .6rem; }
details.transcript li.tool pre { border-left: 3px solid var(--arm-1); padding-left: .6rem; font-family: ui-monospace, monospace; font-size: .82rem; }
details.transcript li.omitted pre { color: var(--ink-soft); }
details.transcript li.verdict pre { font-weight: 600; }
@media (max-width: 560px) { details.transcript li { grid-template-columns: 1fr; gap: .1rem; } dl.bars { grid-template-columns: 1fr; } }
`;

// What the page on fidelity adds to the style of reports.

export const FIDELITY_STYLE = `
:root { --good: #2c7a40; --bad: #b93a12; --real: #e9f5ec; --dreamt: #fbece7; --shade: #f4f1eb; }
@media (prefers-color-scheme: dark) { :root { --good: #74c686; --bad: #f58a55; --real: #1a3021; --dreamt: #3a2219; --shade: #232220; } }
main.fidelity { max-width: 63rem; }
.fidelity h3 { font-size: 1.02rem; line-height: 1.3; margin: 2.2rem 0 0.5rem; }
.fidelity h4 { font: 600 0.8rem system-ui, sans-serif; color: var(--ink-soft); margin: 0.9rem 0 0.3rem; }
.fidelity .aspect { border-top: 1px solid var(--rule-strong); margin-top: 3.2rem; padding-top: 0.2rem; }
.fidelity .aspect > h2, #provenance > h2 { font-size: 1.45rem; margin: 1.4rem 0 0.7rem; letter-spacing: -0.01em; }
.fidelity .lead { font-size: 1rem; color: var(--ink-soft); }
.fidelity .incomplete { border-left: 4px solid var(--bad); background: var(--dreamt); border-radius: 0 8px 8px 0; padding: 0.7rem 1rem; font: 0.9rem system-ui, sans-serif; }
.fidelity nav { display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; margin: 2rem 0 0; font: 0.86rem system-ui, sans-serif; }
.fidelity a { color: inherit; text-decoration-color: var(--rule-strong); text-underline-offset: 3px; }
.who { display: inline-flex; align-items: baseline; gap: 0.45em; overflow-wrap: anywhere; }
.who i { flex: none; width: 0.62em; height: 0.62em; border-radius: 50%; }
.trust, .said, .gates ul, .remarks, .diff { list-style: none; padding: 0; }
.trust { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: 1.2rem; margin: 1.8rem 0; font-family: system-ui, sans-serif; }
.trust li { border-top: 4px solid; background: var(--panel); border-radius: 0 0 8px 8px; padding: 0.8rem 1rem 0.9rem; box-shadow: 0 0 0 1px var(--rule); min-width: 0; }
.trust .who { font-weight: 600; font-size: 0.95rem; }
.trust .who i { display: none; }
.trust b { display: block; font-size: 2.3rem; line-height: 1.15; font-weight: 600; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; margin-top: 0.35rem; }
.trust .of, .trust small { color: var(--ink-soft); font-size: 0.82rem; }
.trust p { font-size: 0.88rem; line-height: 1.4; margin: 0.6rem 0 0.5rem; }
.trust small { overflow-wrap: anywhere; }
.gates { border-left: 4px solid var(--good); background: var(--real); border-radius: 0 8px 8px 0; padding: 0.7rem 1rem; margin: 1.6rem 0; font-family: system-ui, sans-serif; font-size: 0.88rem; }
.gates.failed { border-color: var(--bad); background: var(--dreamt); }
.gates h2 { margin: 0 0 0.35rem; font-size: 1rem; }
.gates ul { margin: 0; }
.gates li { display: flex; gap: 0.7rem; padding: 0.12rem 0; }
.gates li b { flex: none; width: 5rem; }
.gates li.failed b, em.worse { color: var(--bad); }
.gates li.passed b, em.better { color: var(--good); }
.gates li span { overflow-wrap: anywhere; min-width: 0; }
table.measures { margin: 1.4rem 0 0.6rem; font-size: 0.86rem; }
table.measures tbody { border-bottom: 1px solid var(--rule); }
table.measures th, table.measures td { border: 0; padding: 0.12rem 0 0.12rem 0.9rem; text-align: left; white-space: normal; min-width: 0; }
table.measures tr:first-child > * { padding-top: 0.6rem; }
table.measures tr:last-child > * { padding-bottom: 0.6rem; }
table.measures th.label { width: 15.5rem; padding-left: 0; padding-bottom: 0.6rem; vertical-align: top; font-weight: 600; }
table.measures.alone th.label { width: 27rem; }
table.measures th.label > span, table.measures th.label > small { display: block; font-weight: 400; color: var(--ink-soft); font-size: 0.8rem; line-height: 1.35; }
table.measures th.label > span { margin: 0.1rem 0 0.15rem; }
table.measures tbody th[scope="row"] { font-weight: 400; width: 11.5rem; }
table.measures .drawn { vertical-align: middle; }
table.measures .value { font-weight: 600; white-space: nowrap; width: 5.8rem; }
table.measures .interval { color: var(--ink-soft); white-space: nowrap; width: 8.6rem; }
table.measures .turn { width: 4.9rem; }
table.measures .count { color: var(--ink-soft); font-size: 0.78rem; white-space: nowrap; text-align: right; width: 4.6rem; }
table.measures em { font-style: normal; white-space: nowrap; font-weight: 600; font-size: 0.8rem; }
.bar { position: relative; display: block; height: 0.85rem; background: var(--shade); border-radius: 2px; }
.bar i { position: absolute; top: 0; bottom: 0; border-radius: 2px; min-width: 1px; }
.bar s { position: absolute; top: calc(50% - 1px); height: 2px; background: var(--ink); text-decoration: none; min-width: 1px; }
.bar u { position: absolute; top: -2px; bottom: -2px; width: 1px; background: var(--ink-soft); }
.bar.none { background: none; border-bottom: 1px dashed var(--rule-strong); height: 0.5rem; }
.said { margin: 0 0 1rem; }
.said li { display: grid; grid-template-columns: 10rem 1fr; gap: 1rem; padding: 0.15rem 0; }
.said .who { font-family: system-ui, sans-serif; font-size: 0.86rem; }
.fidelity figure { margin: 2.2rem 0 0; }
.fidelity figcaption h3 { margin: 0; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: 0.6rem 1.4rem; }
.panels > .wide, .panels > .narrow { grid-column: 1 / -1; }
.panels > .square { max-width: 29rem; }
.panel h4 { margin-bottom: 0; }
dl.grouped { margin: 0.6rem 0 0; font-family: system-ui, sans-serif; font-size: 0.86rem; }
dl.grouped > div { display: grid; grid-template-columns: minmax(7rem, 22%) 1fr; gap: 0.15rem 1rem; padding: 0.4rem 0; border-bottom: 1px solid var(--rule); align-items: center; }
dl.grouped dt { overflow-wrap: anywhere; align-self: start; }
dl.grouped dd { grid-column: 2; margin: 0; display: grid; grid-template-columns: 1fr 11.5rem; gap: 1rem; align-items: center; }
dl.grouped dd b { font-weight: 400; font-variant-numeric: tabular-nums; }
details { font-family: system-ui, sans-serif; }
details > summary { cursor: pointer; font-size: 0.86rem; }
.rest { margin: 0.6rem 0; color: var(--ink-soft); }
.rest table { color: var(--ink); }
.figures-of { margin-top: 0.4rem; color: var(--ink-soft); }
.figures-of .scroll { max-height: 22rem; overflow-y: auto; margin-top: 0.4rem; color: var(--ink); }
.fidelity .scroll { margin: 0.4rem 0 0; }
table.cells td, table.cells th { white-space: normal; text-align: left; }
table.cells tr.same > * { border-top: 0; }
table.cells tr:has(+ tr.same) > * { border-bottom: 0; }
.whose { margin: 0.9rem 0 0.3rem; font: 0.9rem system-ui, sans-serif; }
.worst { border-top: 1px solid var(--rule); padding: 0.5rem 0; }
.worst summary { font-weight: 600; }
.worst summary small { font-weight: 400; color: var(--ink-soft); margin-left: 0.4rem; }
.worst pre { margin: 0; padding: 0.5rem 0.7rem; background: var(--shade); border-radius: 5px; white-space: pre-wrap; overflow-wrap: anywhere; font: 0.8rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; max-height: 26rem; overflow-y: auto; }
.worst .both { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); gap: 0 1.2rem; }
.diff { margin: 0; font: 0.8rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.diff li { padding: 0.2rem 0; }
.diff code { color: var(--ink-soft); overflow-wrap: anywhere; }
.diff div { display: grid; grid-template-columns: 4rem 1fr; gap: 0.6rem; padding: 0.05rem 0.5rem; border-radius: 3px; white-space: pre-wrap; overflow-wrap: anywhere; }
.diff div.real { background: var(--real); }
.diff div.dreamt { background: var(--dreamt); margin-top: 1px; }
.diff b { font-weight: 400; color: var(--ink-soft); }
.remarks { margin: 1.2rem 0 0; border-left: 3px solid var(--rule-strong); padding-left: 0.9rem; font-size: 0.92rem; }
.remarks li { margin-bottom: 0.3rem; }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
#provenance .provenance { margin-top: 1rem; }
@media (max-width: 44rem) {
  table.measures, table.measures tbody { display: block; }
  table.measures tbody { padding: 0.5rem 0; }
  table.measures tr { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 0.7rem; padding: 0.25rem 0; }
  table.measures tr:first-child { padding-top: 0; }
  table.measures th, table.measures td, table.measures tr:first-child > *, table.measures tr:last-child > * { padding: 0; }
  table.measures th.label, table.measures.alone th.label { grid-column: 1 / -1; width: auto; padding-bottom: 0.3rem; }
  table.measures tbody th[scope="row"] { width: auto; }
  table.measures .drawn { grid-column: 1 / -1; grid-row: 3; width: auto; padding: 0.1rem 0; }
  table.measures .value { text-align: right; }
  table.measures .value, table.measures .interval, table.measures .turn, table.measures .count { width: auto; }
  table.measures .interval { grid-row: 4; font-size: 0.78rem; }
  table.measures .count { grid-row: 4; }
  table.measures .turn { grid-row: 5; grid-column: 1 / -1; }
  table.measures .turn:empty { display: none; }
  table.measures.alone .value { grid-row: 4; grid-column: 1; text-align: left; }
  table.measures.alone .interval { grid-row: 4; grid-column: 2; text-align: right; font-size: 0.86rem; }
  table.measures.alone .count, table.measures.alone .turn { display: none; }
  .said li { grid-template-columns: 1fr; gap: 0; padding: 0.3rem 0; }
  dl.grouped > div { grid-template-columns: 1fr; }
  dl.grouped dt { grid-row: auto !important; font-weight: 600; }
  dl.grouped dd { grid-column: 1; grid-template-columns: 1fr 9.8rem; gap: 0.6rem; }
  .trust { grid-template-columns: 1fr; gap: 0.8rem; }
  .gates li { display: block; padding: 0.25rem 0; }
  .worst summary small { display: block; margin-left: 1.1rem; }
}
`;

// Transitions that were got most wrong, in full: what differs first, then all of both.

import type { WorstTransition } from '../../../fidelity/index.js';
import { valueText } from '../../../fidelity/index.js';
import type { Json } from '../../../json.js';
import { escapeHtml } from '../escape.js';

/** Letters of one JSON text; a state may be a whole database. */
const MOST_LETTERS = 20_000;
const ONE_LINE = 72;

/** Closed until it is opened; works without a script. */
export function worstHtml(worst: WorstTransition): string {
  const { title, badness, backend, confidence, differences, context, action, real, dreamt } = worst;
  const facts = [
    ...(backend === undefined ? [] : [`answered by ${backend}`]),
    ...(confidence === undefined ? [] : [`confidence ${valueText(confidence, 'number')}`]),
    `badness ${valueText(badness, 'number')}`,
  ];
  return `<details class="worst"><summary>${escapeHtml(title)} <small>${escapeHtml(facts.join(' · '))}</small></summary>
<h4>What differs</h4>${differencesHtml(differences)}
<h4>What was done</h4>${block(action)}
<h4>Where</h4>${block(context)}
<div class="both"><div><h4>Real, in full</h4>${block(real)}</div><div><h4>Dreamt, in full</h4>${block(dreamt)}</div></div></details>`;
}

function differencesHtml(differences: WorstTransition['differences']): string {
  if (differences.length === 0) return '<p class="note">No place of it is named.</p>';
  const items = differences.map(
    ({ path, real, dreamt }) =>
      `<li><code>${escapeHtml(path)}</code>${side('real', real)}${side('dreamt', dreamt)}</li>`,
  );
  return `<ul class="diff">${items.join('')}</ul>`;
}

function side(of: 'real' | 'dreamt', value: Json | undefined): string {
  const text =
    value === undefined ? '<span class="note">nothing there</span>' : `<span>${escapeHtml(jsonText(value))}</span>`;
  return `<div class="${of}"><b>${of}</b>${text}</div>`;
}

function block(value: Json): string {
  return `<pre>${escapeHtml(jsonText(value))}</pre>`;
}

/** Short on one line, long indented, too long cut. */
function jsonText(value: Json): string {
  const short = JSON.stringify(value);
  if (short.length <= ONE_LINE) return short;
  const text = JSON.stringify(value, null, 2);
  const more = text.length - MOST_LETTERS;
  return more <= 0 ? text : `${text.slice(0, MOST_LETTERS)}\n… ${more} more letters, in fidelity.json`;
}

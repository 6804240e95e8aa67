// Tables and notes of several models as one: what all of them say is said once.

import type { FidelityTable } from './fidelity-report.js';
import type { SectionGroup } from './shown-report.js';

/**
 * Tables of the same title and columns as one, with a column for the model after the first; rows that have the same first
 * cell stand together.
 *
 * @param names of all subjects of the report, in their order
 */
export function tablesOf({ parts }: SectionGroup, names: readonly string[]): FidelityTable[] {
  const owned = parts.flatMap(({ subject, section }) => section.tables.map((table) => ({ subject, table })));
  const keyOf = ({ title, columns }: FidelityTable) => JSON.stringify([title, columns]);
  return [...new Set(owned.map(({ table }) => keyOf(table)))].map((key) => {
    const same = owned.filter(({ table }) => keyOf(table) === key);
    const [{ table: first }] = same;
    if (names.length === 1) return first;
    const [name = '', ...columns] = first.columns;
    const rows = same.flatMap(({ subject, table }) =>
      table.rows.map(([label = '', ...cells]) => [label, names[subject], ...cells]),
    );
    const order = [...new Set(rows.map(([label]) => label))];
    const sorted = order.flatMap((label) => rows.filter((row) => row[0] === label));
    return { title: first.title, columns: [name, 'model', ...columns], rows: sorted };
  });
}

/** Each note once; `of` names those whose it is, and is empty where it is everybody's. */
export function notesOf({ parts }: SectionGroup, names: readonly string[]): { text: string; of: string[] }[] {
  const texts = [...new Set(parts.flatMap(({ section }) => section.notes))];
  return texts.map((text) => {
    const having = parts.filter(({ section }) => section.notes.includes(text));
    return { text, of: having.length === parts.length ? [] : having.map(({ subject }) => names[subject]) };
  });
}

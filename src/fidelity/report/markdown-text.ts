// Pieces of Markdown in which text of anyone's stays text.

/** Text in which nothing is a mark: no emphasis, link, HTML, table cell or new line begins in it. */
export function plain(text: string): string {
  return text
    .replace(/\s*[\r\n]+\s*/g, ' ')
    .replace(/[\\`*_[\]<>|#]/g, (mark) => (mark === '<' ? '&lt;' : `\\${mark}`));
}

/** A table whose first column names the row. Cells are text, not Markdown. */
export function markdownTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(plain).join(' | ')} |`;
  return [line(columns), `| ${columns.map(() => '---').join(' | ')} |`, ...rows.map(line)].join('\n');
}

/** JSON in a fence that nothing within can close. */
export function fencedJson(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2).replaceAll('```', '\\u0060\\u0060\\u0060')}\n\`\`\``;
}

/** Paragraphs, those that are empty left out. */
export function paragraphs(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

export function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}

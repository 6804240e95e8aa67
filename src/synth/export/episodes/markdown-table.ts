// Tables of Markdown whose cells come from data.

export function markdownTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => plainMarkdown(String(cell))).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Names come from data: no line break, cell or markup of theirs may change the page. */
export function plainMarkdown(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

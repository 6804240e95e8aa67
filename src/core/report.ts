// A report as plain data: what a job or a section of one has found, before anyone decides whether it is read on a terminal, as
// Markdown or as a page. All text is text: writers escape it.

export interface Report {
  readonly title: string;
  readonly blocks: readonly Block[];
}

export type Block =
  /** Level 2 begins a part that contents name. */
  | { readonly kind: 'heading'; readonly text: string; readonly level?: 2 | 3 }
  | { readonly kind: 'paragraph'; readonly text: string; readonly tone?: 'lead' | 'note' | 'warning' }
  | ListBlock
  /** Labelled lines. */
  | { readonly kind: 'facts'; readonly rows: readonly Fact[] }
  /** A few numbers that are read first, large. */
  | { readonly kind: 'figures'; readonly items: readonly Figure[] }
  | TableBlock
  | CurvesBlock
  /** Folded until it is asked for, where that can be. */
  | { readonly kind: 'details'; readonly title: string; readonly blocks: readonly Block[] }
  | { readonly kind: 'transcript'; readonly lines: readonly TranscriptLine[] }
  /** Text as it is, such as JSON. */
  | { readonly kind: 'code'; readonly text: string };

export type Fact = readonly [label: string, value: string];

interface ListBlock {
  readonly kind: 'list';
  readonly title?: string;
  readonly items: readonly string[];
  /** `passed` and `failed` are verdicts. */
  readonly tone?: 'passed' | 'failed' | 'note';
}

interface Figure {
  readonly value: string;
  readonly label: string;
  /** A sentence on it. */
  readonly text?: string;
}

export interface TableBlock {
  readonly kind: 'table';
  readonly title?: string;
  readonly columns: readonly string[];
  /** Of as many cells as there are columns; the first cell names the row. */
  readonly rows: readonly (readonly Cell[])[];
  /** One sentence below. */
  readonly note?: string;
  /** Of figures, all columns but the first stand to the right. */
  readonly alignment?: 'figures' | 'text';
}

/** A text, ready to read; where there is room also an explanation, or a bar for its value. */
export type Cell = string | { readonly text: string; readonly about?: string; readonly bar?: Bar };

export interface Bar {
  readonly value: number;
  /** Interval of the value. */
  readonly low?: number;
  readonly high?: number;
  /** What the whole width stands for; zero lies within. */
  readonly range: readonly [low: number, high: number];
  /** Place among the colours of a page. */
  readonly colour?: number;
}

export interface CurvePoint {
  readonly x: number;
  readonly y: number;
  /** Interval of y. */
  readonly low?: number;
  readonly high?: number;
  readonly label?: string;
}

/** Curves of one quantity against another. Several of one name are seeds: they are drawn as their mean with a band. */
export interface CurvesBlock {
  readonly kind: 'curves';
  readonly title: string;
  /** What one sees, in one sentence. */
  readonly caption?: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly curves: readonly {
    readonly name: string;
    readonly seed?: number;
    /** Place among the colours of a page; in order of appearance unless said. */
    readonly colour?: number;
    readonly points: readonly CurvePoint[];
  }[];
  /** Points alone, each with its interval. */
  readonly isScatter?: boolean;
  /** Whether y = x is drawn. */
  readonly diagonal?: boolean;
  /** A dashed level line. */
  readonly threshold?: { readonly value: number; readonly label: string };
  /** `share`: from 0 to 1, in per cent. */
  readonly yScale?: 'share';
}

export interface TranscriptLine {
  readonly role: 'system' | 'user' | 'assistant' | 'tool' | 'verdict';
  readonly text: string;
  /** Who answered, how surely, what it changed. */
  readonly note?: string;
}

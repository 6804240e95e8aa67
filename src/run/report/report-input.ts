// What a report is made from: plain JSON, so that any run, benchmark or earlier result can be drawn again.

/** One curve: an arm (way of training) with one seed. */
export interface ReportCurve {
  readonly arm: string;
  readonly seed: number;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

/** A chart: curves of one quantity against another. Seeds of an arm are drawn as their mean with a band. */
export interface ReportChart {
  readonly title: string;
  /** One sentence under the title: what is shown, and what the band is. */
  readonly caption?: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly curves: readonly ReportCurve[];
  /** A dashed level line. */
  readonly threshold?: { readonly value: number; readonly label: string };
  /** `share`: from 0 to 1, told in per cent. */
  readonly yScale?: 'linear' | 'log' | 'share';
  /** Draw values as steps that hold until the next point (schedules). */
  readonly stepped?: boolean;
}

/** Amounts side by side, such as reasons and how often each was given. */
export interface ReportBars {
  readonly title: string;
  readonly caption?: string;
  readonly bars: readonly {
    readonly label: string;
    /** 0 or more. */
    readonly value: number;
    /** The value as it is to be read. */
    readonly text: string;
    /** Interval of the value. */
    readonly low?: number;
    readonly high?: number;
  }[];
}

/** An episode in full. */
export interface ReportTranscript {
  readonly title: string;
  readonly lines: readonly {
    readonly role: 'system' | 'user' | 'assistant' | 'tool' | 'verdict' | 'omitted';
    readonly text: string;
    /** Who answered, how surely, what it changed. */
    readonly note?: string;
  }[];
}

/** A table: the first column names the row; cells are text, ready to read. */
export interface ReportTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** One sentence below. */
  readonly note?: string;
}

/** A part of the page with a heading: a table, and episodes to read in groups. */
export interface ReportSection {
  readonly title: string;
  readonly caption?: string;
  readonly table: ReportTable;
  readonly groups: readonly { readonly title: string; readonly transcripts: readonly ReportTranscript[] }[];
}

/** Where the figures come from. */
export interface ReportProvenance {
  readonly command: string;
  readonly scenario: string;
  readonly scenarioHash: string;
  readonly seeds: readonly number[];
  /** Hash of what the figures were measured on. */
  readonly panel?: string;
  readonly machine: string;
  /** ISO 8601. */
  readonly date: string;
  /** Package to version: reverie, node, onnxruntime-node, mujoco. */
  readonly versions: Readonly<Record<string, string>>;
}

/** A file beside the report. */
export interface ReportLink {
  /** Relative to the report, with forward slashes. */
  readonly file: string;
  readonly title: string;
  /** What it is, in a sentence. */
  readonly about: string;
}

export interface ReportInput {
  readonly title: string;
  /** What was found, in one or two sentences; stands above everything. */
  readonly lead?: string;
  /** Large figures shown in a row, such as "6.4×" "fewer real steps". */
  readonly figures?: readonly { readonly value: string; readonly label: string }[];
  readonly summary: ReportTable;
  readonly links?: readonly ReportLink[];
  readonly charts: readonly ReportChart[];
  readonly bars?: readonly ReportBars[];
  readonly sections?: readonly ReportSection[];
  readonly transcripts?: readonly ReportTranscript[];
  readonly notes?: readonly string[];
  readonly provenance: ReportProvenance;
}

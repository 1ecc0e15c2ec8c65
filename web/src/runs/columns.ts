// The columns of the runs table: what there is, how wide, how sorted, and what is asked of the server for it.

/** Columns that every run has. The rest are names of the where language: config.lr, summary.score, metric.loss, min.loss … */
const BUILT_IN = {
  status: { label: "Status", width: 104, order: "status", isNumber: false },
  name: { label: "Name", width: 240, order: "name", isNumber: false },
  project: { label: "Project", width: 140, order: "project", isNumber: false },
  tags: { label: "Tags", width: 160, order: null, isNumber: false },
  created: { label: "Created", width: 112, order: "created_at", isNumber: true },
  duration: { label: "Duration", width: 92, order: "duration", isNumber: true },
  points: { label: "Points", width: 84, order: "points", isNumber: true },
  best: { label: "Best", width: 112, order: "best", isNumber: true },
  spark: { label: "Curve", width: 132, order: null, isNumber: false },
  notes: { label: "Notes", width: 200, order: "notes", isNumber: false },
  id: { label: "Id", width: 190, order: "id", isNumber: false },
  hostname: { label: "Host", width: 120, order: "hostname", isNumber: false },
  exit_reason: { label: "Exit reason", width: 180, order: "exit_reason", isNumber: false },
  best_step: { label: "Best step", width: 92, order: "best_step", isNumber: true },
  deleted: { label: "Deleted", width: 112, order: "deleted_at", isNumber: true },
  ended: { label: "Ended", width: 112, order: "ended_at", isNumber: true },
} as const;

export type BuiltIn = keyof typeof BUILT_IN;
export const BUILT_INS = Object.keys(BUILT_IN) as BuiltIn[];
export const DEFAULT_COLUMNS: readonly string[] = ["status", "name", "project", "tags", "created", "duration", "points", "best", "spark"];

export const NARROWEST = 56;
export const WIDEST = 800;

export interface Column {
  name: string;
  label: string;
  width: number;
  /** What to sort by, or null where one cannot. */
  order: string | null;
  isNumber: boolean;
}

function isBuiltIn(name: string): name is BuiltIn {
  return Object.hasOwn(BUILT_IN, name);
}

/** Whether a column can be shown: a built-in one, or a name with a prefix of the where language. */
export function isColumn(name: string): boolean {
  return isBuiltIn(name) || /^(config|summary|metric|min|max)\../.test(name);
}

/** A column's looks; `width` where one was chosen. */
export function column(name: string, width?: number): Column {
  if (isBuiltIn(name)) return { name, ...BUILT_IN[name], width: width ?? BUILT_IN[name].width };
  const label = name.replace(/^(config|metric)\./, "").replace(/^(summary|min|max)\./, "$1 ");
  const isNumber = /^(metric|min|max)\./.test(name);
  return { name, label, width: width ?? Math.min(200, Math.max(96, 34 + label.length * 7)), order: name, isNumber };
}

/** The columns that the server has to look up, in order; the others are part of every row. */
export function asked(names: readonly string[]): string[] {
  return names.filter((name) => !isBuiltIn(name) || name === "hostname");
}

/** The columns of which groups show mean, smallest and largest. */
export function aggregated(names: readonly string[]): string[] {
  return names.filter((name) => !isBuiltIn(name) || name === "best" || name === "duration" || name === "points");
}

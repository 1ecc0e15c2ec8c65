// What the server answers: the shapes of the API that more than one page reads. See `/api/openapi.json`.

/** A number as JSON carries it: NaN is null, infinities are words. */
export type Num = number | "Infinity" | "-Infinity" | null;
export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };

export type Status = "running" | "finished" | "failed" | "interrupted";

export interface Store {
  name: string;
  version: string;
  mode: "a" | "r";
  runs: number;
  deleted: number;
  running: number;
  datasets: number;
  episodes: number;
}

export interface RunRow {
  id: string;
  project: string;
  name: string;
  status: Status;
  is_stale: boolean;
  /** What it shows live, as `/api/live` names it. */
  live: string[];
  created_at: number;
  ended_at: number | null;
  duration: number | null;
  tags: string[];
  notes: string;
  points: number;
  best: { name: string; value: Num; step: number | null } | null;
  exit_reason: string | null;
  deleted_at: number | null;
  values: Value[];
  spark: (Num)[] | null;
}

export interface Runs {
  total: number;
  offset: number;
  columns: string[];
  runs: RunRow[];
}

export interface Counted {
  name: string;
  count: number;
}

export interface Fields {
  projects: Counted[];
  statuses: Counted[];
  tags: Counted[];
  config: string[];
  summary: string[];
  metrics: string[];
}

export interface Group {
  value: Value;
  count: number;
  columns: { mean: Num; min: Num; max: Num; count: number }[];
}

export interface Groups {
  by: string;
  groups: Group[];
}

/** The answer to tag, delete, restore and purge. */
export interface Done {
  done: string[];
  failed: { id: string; message: string }[];
}

export interface EpisodeRow {
  address: string;
  id: string;
  title: string;
  kind: "replay" | "dataset";
  number: number | null;
  run_id: string | null;
  steps: number | null;
  total_reward: Num;
  how: string | null;
  is_unfinished: boolean;
  created_ns: string;
  duration_s: number | null;
  frame_ref: string | null;
  last_ref: string | null;
}

export interface Episodes {
  total: number;
  episodes: EpisodeRow[];
}

export interface DatasetRow {
  name: string;
  episodes: number;
  duration_s: number | null;
  bytes: number | null;
}

/** What `/api/events` says of one run. */
export interface Pulse {
  points: number;
  status: Status;
  is_stale: boolean;
  live: string[];
  log_bytes: number;
  episodes: number;
  media: number;
  updated_at: number;
}

export interface Change {
  runs: Record<string, Pulse>;
  list?: { total: number; newest: string | null };
}

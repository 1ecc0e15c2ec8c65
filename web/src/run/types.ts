// What the server answers about one run.

import type { Num, RunRow, Value } from "../lib/types";

export interface MetricFacts {
  key: string | number;
  name: string;
  stage: string | null;
  part: number;
  points: number;
  last_value: Num;
  last_step: number | null;
  last_s: number | null;
  min_value: Num;
  min_step: number | null;
  max_value: Num;
  max_step: number | null;
}

export interface RunFacts extends RunRow {
  config: Record<string, Value>;
  summary: Record<string, Value>;
  environment: Record<string, Value>;
  origin_ns: string;
  metrics: MetricFacts[];
  media: number;
  episodes: number;
  datasets: Record<string, number>;
  log_bytes: number;
  path: string;
}

/** One metric in one stage of one part, as points. */
export interface SeriesAnswer {
  name: string;
  stage: string | null;
  part: number;
  total: number;
  is_sampled: boolean;
  steps: number[];
  times: number[];
  values: Num[];
  last_ns: string | null;
}

export interface MetricsAnswer {
  origin_ns: string;
  series: SeriesAnswer[];
}

export interface LogLine {
  at: number;
  text: string;
  time_s: number | null;
}

export interface LogAnswer {
  size: number;
  start: number;
  end: number;
  lines: LogLine[];
}

export interface LogMatches {
  matches: LogLine[];
  is_more: boolean;
}

export interface MediaItem {
  index: number;
  key: string;
  step: number | null;
  time_s: number | null;
  caption: string | null;
  type: string;
  url: string;
}

export interface MomentMetric {
  name: string;
  stage: string | null;
  step: number | null;
  time_s: number;
  value: Num;
}

export interface MomentAnswer {
  metrics: MomentMetric[];
  lines: LogLine[];
  episode: { address: string; title: string; index: number; time_s: number; frame_ref?: string | null } | null;
  media: MediaItem | null;
}

export interface Returns {
  total: number;
  numbers: number[];
  ids?: string[];
  returns: Num[];
  lengths: (number | null)[];
  times: (number | null)[];
}

export interface Difference {
  key: string;
  values: Value[];
}

export interface CompareAnswer {
  runs: RunRow[];
  config: Difference[];
  environment: Difference[];
}

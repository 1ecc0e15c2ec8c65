// What the server says of an episode, as /api spells it. Times are seconds from the episode's origin.

export type SignalKind = "picture" | "scalar" | "vector" | "text" | "other";

export interface SignalFacts {
  name: string;
  kind: SignalKind;
  length: number;
  dtype: string;
  shape: number[];
  columns: number;
  names: string[] | null;
  start_s: number | null;
  stop_s: number | null;
  rate_hz: number | null;
  ref: string | null;
  place0: number;
  holes: boolean;
  is_lossy: boolean;
  width: number | null;
  height: number | null;
  /** Another signal that is stored once with this one. */
  same_as?: string | null;
  /** Why it cannot be read. */
  error?: string | null;
}

export type MarkKind = "reward" | "end" | "missing" | "gap" | "reset" | "life";

export interface Mark {
  kind: MarkKind;
  time_s: number;
  index: number;
  text: string;
}

export interface Episode {
  address: string;
  id: string;
  title: string;
  kind: "replay" | "dataset";
  number: number;
  run_id: string | null;
  steps: number | null;
  total_reward: number | null;
  how: string | null;
  is_unfinished: boolean;
  created_ns: string | null;
  duration_s: number | null;
  origin_ns: string;
  has_wall_clock: boolean;
  static: Record<string, unknown>;
  previous: string | null;
  next: string | null;
  signals: SignalFacts[];
  marks: Mark[];
  rate_hz: number | null;
  /** Names this recording among all; what is asked for with it may be kept for ever. */
  version?: string;
  is_final?: boolean;
}

export interface StepRow {
  index: number;
  time_s: number;
  action: unknown;
  /** What the environment calls the action, if it said so. */
  action_name: string | null;
  reward: number | string | null;
  return: number | string | null;
  terminated: boolean;
  truncated: boolean;
  info: Record<string, unknown>;
  agent: string | null;
  has_frame: boolean;
}

export interface Steps {
  start: number;
  stop: number;
  rows: StepRow[];
}

export interface SignalValues {
  total: number;
  is_sampled: boolean;
  times: number[];
  columns: (number | string | null)[][];
  names: string[] | null;
}

export interface SampleAt {
  index: number;
  time_s: number;
  age_s: number;
  value: unknown;
}

export interface Instant {
  time_s: number;
  signals: Record<string, SampleAt | null>;
}

// The state of the runs page: what the address asks for, the rows that are there, what is chosen, and what changed since.

import { untrack } from "svelte";

import { ApiError, get } from "../lib/api";
import { place } from "../lib/router.svelte";
import type { Change, Fields, Group, Groups, RunRow, Runs, Value } from "../lib/types";
import { aggregated, asked } from "./columns";
import { Pages } from "./pages";
import { chosen, has, NONE, type Selection } from "./selection";
import { columnsText, filterQuery, listQuery, orderText, tagsText, usualOrder, viewOf, type Order, type Shown, type View } from "./view";
import { both, groupWhere, named } from "./where";
import { Outline } from "./window";

/** A run with the values of the columns that were asked for, by name. */
export interface Row extends RunRow {
  cells: ReadonlyMap<string, Value>;
}

export type Line =
  | { kind: "run"; index: number; row: Row | undefined; isInGroup: boolean }
  | { kind: "group"; index: number; group: Group; isOpen: boolean };

/** How long a run took, or has been going on. */
export function lastedOf(row: Row, now: number): number | null {
  return row.status === "running" && !row.is_stale ? Math.max(row.duration ?? 0, now - row.created_at) : row.duration;
}

const KEPT = "playhead-runs";
const KEPT_METRIC = "playhead-runs-metric";
const ROW_REFRESH = 1500;
const FIELDS_REFRESH = 5000;

export class RunsModel {
  fields = $state.raw<Fields | null>(null);
  selection = $state.raw<Selection>(NONE);
  /** The line that the keys move. */
  cursor = $state(-1);
  /** Runs that came while the list was scrolled away from its top. */
  fresh = $state(0);
  isAtTop = true;
  /** How far the list is scrolled, and for which question: kept for the way back from a run. */
  top = 0;
  shown = "";

  #kept = $state.raw(new URLSearchParams(read()));
  #widths = $state.raw<readonly Shown[] | null>(null);
  #version = $state(0);
  #groups = $state.raw<Groups | null>(null);
  #groupsError = $state.raw<unknown>(null);
  #opened = $state.raw<ReadonlyMap<string, Pages<Row>>>(new Map());
  #listed = "";
  #question = "";
  #dirty = new Set<string>();
  #rowTimer: ReturnType<typeof setTimeout> | undefined;
  #fieldsTimer: ReturnType<typeof setTimeout> | undefined;
  #counting: AbortController | null = null;
  #anchor: number | null = null;

  // On the way to another page, whose query is not ours, this one is still in sight.
  #lastQuery = place.query;
  #query = $derived.by(() => {
    if (place.path === "/") this.#lastQuery = place.query;
    return this.#lastQuery;
  });

  view = $derived.by((): View => {
    const view = viewOf(this.#query, this.#kept);
    const spark = view.spark && this.#isMetric(view.spark) ? view.spark : this.#usualMetric();
    return { ...view, spark, columns: this.#widths ?? view.columns };
  });

  readonly #pages = new Pages<Row>(
    (offset, limit, signal) => this.#fetchRows(listQuery(this.view), offset, limit, signal),
    () => this.#touch(),
  );

  #outline = $derived.by(() => {
    void this.#version;
    return new Outline((this.#groups?.groups ?? []).map((group) => (this.#opened.has(keyOf(group)) ? group.count : 0)));
  });

  // --- what is shown -------------------------------------------------------------------------------------------------

  /** How many runs fit the filter; null before the first answer. */
  get runs(): number | null {
    void this.#version;
    if (!this.view.group) return this.#pages.total;
    if (this.#groups === null) return null;
    return this.view.group === "tags" ? null : this.#groups.groups.reduce((sum, { count }) => sum + count, 0);
  }

  /** How many lines the table has; null before the first answer. */
  get lines(): number | null {
    void this.#version;
    if (this.view.group) return this.#groups === null ? null : this.#outline.total;
    return this.#pages.total;
  }

  get groupCount(): number {
    return this.#groups?.groups.length ?? 0;
  }

  get error(): unknown {
    void this.#version;
    return this.view.group ? this.#groupsError : this.#pages.error;
  }

  /** What is wrong with the query, where that is the trouble. */
  get queryError(): ApiError | null {
    const error = this.error;
    return error instanceof ApiError && (error.status === 400 || error.status === 422) ? error : null;
  }

  get isBusy(): boolean {
    void this.#version;
    return this.#pages.isBusy;
  }

  get isOld(): boolean {
    void this.#version;
    return !this.view.group && this.#pages.isOld;
  }

  line(index: number): Line {
    void this.#version;
    if (!this.view.group) return { kind: "run", index, row: this.#pages.at(index), isInGroup: false };
    const { group: at, row } = this.#outline.at(index);
    const group = this.#groups?.groups[at] as Group;
    const pages = this.#opened.get(keyOf(group));
    if (row < 0) return { kind: "group", index, group, isOpen: pages !== undefined };
    return { kind: "run", index, row: pages?.at(row), isInGroup: true };
  }

  /** Say which lines are in sight. */
  want(first: number, last: number): void {
    if (this.#question === "") return; // `follow` comes first.
    if (!this.view.group) {
      this.#pages.want(first, Math.max(first, last));
      return;
    }
    const spans = new Map<string, [number, number]>();
    for (let index = first; index <= last; index += 1) {
      const { group: at, row } = this.#outline.at(index);
      const group = this.#groups?.groups[at];
      if (group === undefined || row < 0) continue;
      const span = spans.get(keyOf(group));
      if (span) span[1] = row;
      else spans.set(keyOf(group), [row, row]);
    }
    for (const [key, [from, to]] of spans) this.#opened.get(key)?.want(from, to);
  }

  // --- asking --------------------------------------------------------------------------------------------------------

  /** Ask anew where the view asks for something else than before. Call it in an effect. */
  follow(): void {
    const view = this.view;
    const question = JSON.stringify([listQuery(view), view.group, view.group ? aggregated(names(view)) : null]);
    const filter = JSON.stringify([filterQuery(view), view.group]);
    untrack(() => {
      if (question === this.#question) return;
      const isOther = this.#listed !== filter;
      [this.#question, this.#listed] = [question, filter];
      if (isOther) {
        this.selection = NONE;
        this.cursor = -1;
        this.fresh = 0;
        this.#closeGroups();
      }
      void this.refresh(true);
    });
  }

  /** Begin, or go on where one left for another page: what was there is shown while it is asked for again. */
  start(): void {
    void this.loadFields();
    if (this.#question !== "") void this.refresh();
  }

  /**
   * Ask again for what is in sight.
   *
   * @param isOther Whether for something else than before.
   */
  async refresh(isOther = false): Promise<void> {
    this.fresh = 0;
    if (this.view.group) {
      await this.#loadGroups();
      for (const pages of this.#opened.values()) pages.refresh();
    } else {
      this.#groups = null;
      this.#pages.refresh(isOther);
    }
    this.#touch();
  }

  async loadFields(): Promise<void> {
    try {
      this.fields = await get<Fields>("runs/fields");
      localStorage.setItem(KEPT_METRIC, this.#usualMetric()); // So that the next visit asks for the right curves at once.
    } catch {
      // Completion and column choice go without; the list itself says what is wrong.
    }
  }

  async #fetchRows(query: Parameters<typeof get>[1], offset: number, limit: number, signal?: AbortSignal): Promise<{ total: number; rows: Row[] }> {
    const columns = asked(names(this.view));
    const answer = await get<Runs>("runs", { ...query, offset, limit }, signal);
    const rows = answer.runs.map((run) => ({ ...run, cells: new Map(columns.map((name, at) => [name, run.values[at] ?? null])) }));
    return { total: answer.total, rows };
  }

  async #loadGroups(): Promise<void> {
    const view = this.view;
    try {
      const groups = await get<Groups>("runs/groups", { ...filterQuery(view), by: view.group, columns: aggregated(names(view)).map(named).join(",") });
      if (this.view.group !== view.group) return;
      this.#groups = groups;
      this.#groupsError = null;
    } catch (error) {
      this.#groupsError = error;
    }
  }

  toggleGroup(group: Group): void {
    const key = keyOf(group);
    const opened = new Map(this.#opened);
    const there = opened.get(key);
    if (there) {
      there.stop();
      opened.delete(key);
    } else {
      const fetch = (offset: number, limit: number, signal: AbortSignal) => {
        const query = listQuery(this.view);
        const where = both(String(query["where"] ?? ""), groupWhere(this.view.group, group.value));
        return this.#fetchRows({ ...query, where }, offset, limit, signal);
      };
      opened.set(key, new Pages<Row>(fetch, () => this.#touch()));
    }
    this.#opened = opened;
  }

  #closeGroups(): void {
    for (const pages of this.#opened.values()) pages.stop();
    if (this.#opened.size > 0) this.#opened = new Map();
  }

  stop(): void {
    this.#pages.stop();
    for (const pages of this.#opened.values()) pages.stop();
    clearTimeout(this.#rowTimer);
    this.#rowTimer = undefined;
    clearTimeout(this.#fieldsTimer);
    this.#counting?.abort();
  }

  #touch(): void {
    this.#version += 1;
  }

  // --- what changes meanwhile ------------------------------------------------------------------------------------------

  /** Take what the live link says. */
  take(change: Change): void {
    this.#patch((row) => {
      const pulse = change.runs[row.id];
      if (!pulse) return row;
      const isSame = pulse.points === row.points && pulse.status === row.status && pulse.is_stale === row.is_stale;
      if (isSame && pulse.live.join() === row.live.join()) return row;
      if (!isSame) this.#dirty.add(row.id);
      return { ...row, points: pulse.points, status: pulse.status, is_stale: pulse.is_stale, live: pulse.live };
    });
    if (this.#dirty.size > 0) this.#rowTimer ??= setTimeout(() => void this.#renew(), ROW_REFRESH);
    if (change.list) void this.#compare();
  }

  /** Fetch the rows anew that changed: their values, best and curve. */
  async #renew(): Promise<void> {
    const ids = [...this.#dirty].slice(0, 100);
    this.#dirty.clear();
    this.#rowTimer = undefined;
    const query = listQuery(this.view);
    const where = `id in (${ids.map((id) => `'${id.replaceAll("'", "''")}'`).join(", ")})`;
    try {
      const { rows } = await this.#fetchRows({ deleted: query["deleted"], columns: query["columns"], spark: query["spark"], where }, 0, ids.length);
      const fresh = new Map(rows.map((row) => [row.id, row]));
      this.#patch((row) => fresh.get(row.id) ?? row);
    } catch {
      // The next change tries again.
    }
  }

  #patch(change: (row: Row) => Row): void {
    this.#pages.patch(change);
    for (const pages of this.#opened.values()) pages.patch(change);
  }

  /** The list changed somewhere: show it at once at the top, otherwise count what is new. */
  async #compare(): Promise<void> {
    if (this.#question === "" || this.runs === null) return;
    this.#counting?.abort();
    const counting = (this.#counting = new AbortController());
    try {
      const { total } = await get<Runs>("runs", { ...filterQuery(this.view), offset: 0, limit: 1 }, counting.signal);
      if (counting.signal.aborted || total === this.runs) return;
      const added = total - (this.runs ?? 0);
      if (this.isAtTop || added < 0) void this.refresh();
      else this.fresh = added;
      clearTimeout(this.#fieldsTimer);
      this.#fieldsTimer = setTimeout(() => void this.loadFields(), FIELDS_REFRESH);
    } catch {
      // A lost server says so elsewhere.
    }
  }

  // --- changing the view -------------------------------------------------------------------------------------------------

  search(text: string): void {
    place.set({ q: text.trim() === "" ? null : text });
  }

  filter(changes: { project?: string; status?: string; tags?: readonly string[] }): void {
    const { tags, ...rest } = changes;
    place.set({ ...rest, ...(tags ? { tag: tagsText(tags) } : {}) }, { push: true });
  }

  clearFilter(): void {
    place.set({ q: null, project: null, status: null, tag: null }, { push: true });
  }

  sort(order: readonly Order[]): void {
    const text = orderText(order);
    place.set({ order: text === orderText(usualOrder(this.view.isBin)) ? null : text });
  }

  group(by: string): void {
    place.set({ group: by || null }, { push: true });
  }

  /** Show other columns; while one is being dragged wider, `isBrief` leaves the address alone. */
  setColumns(columns: readonly Shown[], isBrief = false): void {
    if (isBrief) {
      this.#widths = columns;
      return;
    }
    this.#widths = null;
    this.#keep({ cols: columnsText(columns) });
  }

  setSpark(metric: string): void {
    this.#keep({ spark: metric });
    if (!names(this.view).includes("spark")) this.setColumns([...this.view.columns, { name: "spark" }]);
  }

  #keep(changes: Record<string, string>): void {
    const kept = new URLSearchParams(this.#kept);
    for (const [name, text] of Object.entries(changes)) kept.set(name, text);
    this.#kept = kept;
    localStorage.setItem(KEPT, kept.toString());
    place.set(changes);
  }

  resetColumns(): void {
    localStorage.removeItem(KEPT);
    this.#kept = new URLSearchParams();
    place.set({ cols: null, spark: null });
  }

  #isMetric(name: string): boolean {
    return this.fields === null || this.fields.metrics.includes(name) || this.fields.metrics.length >= 2000;
  }

  #usualMetric(): string {
    if (this.fields === null) return localStorage.getItem(KEPT_METRIC) ?? "";
    const { metrics } = this.fields;
    for (const name of ["loss", "train/loss", "reward", "return"]) if (metrics.includes(name)) return name;
    return metrics.find((name) => !name.startsWith("system/")) ?? "";
  }

  // --- choosing -----------------------------------------------------------------------------------------------------------

  /** Choose a run, or with `isRange` all between the last one and this. */
  choose(index: number, isRange: boolean): void {
    const line = this.line(index);
    if (line.kind !== "run" || !line.row) return;
    const isOn = !has(this.selection, line.row.id);
    const ids = [line.row.id];
    if (isRange && this.#anchor !== null) {
      const [from, to] = [Math.min(this.#anchor, index), Math.max(this.#anchor, index)];
      for (let at = from; at <= to; at += 1) {
        const other = this.line(at);
        if (other.kind === "run" && other.row) ids.push(other.row.id);
      }
    }
    this.selection = chosen(this.selection, ids, isRange ? true : isOn);
    this.#anchor = index;
  }
}

function names(view: View): string[] {
  return view.columns.map(({ name }) => name);
}

function keyOf(group: Group): string {
  return JSON.stringify(group.value);
}

function read(): string {
  return localStorage.getItem(KEPT) ?? "";
}

// What the runs table shows, and how that is spelled in the address.
//
//   /?q=config.lr<1e-3&project=pong&status=running&tag=a,b&order=-best,name&cols=status,name:300,config.lr&spark=loss&group=config.lr&deleted=1

import type { Query } from "../lib/api";
import { asked, DEFAULT_COLUMNS, isColumn, NARROWEST, WIDEST } from "./columns";
import { named, whereOf } from "./where";

export interface Order {
  name: string;
  isFalling: boolean;
}

export interface Shown {
  name: string;
  width?: number;
}

export interface View {
  text: string;
  project: string;
  status: string;
  tags: readonly string[];
  order: readonly Order[];
  columns: readonly Shown[];
  spark: string;
  group: string;
  isBin: boolean;
}

export const NEWEST_FIRST: readonly Order[] = [{ name: "created_at", isFalling: true }];
const LAST_DELETED_FIRST: readonly Order[] = [{ name: "deleted_at", isFalling: true }];

/** The order where none was chosen. */
export function usualOrder(isBin: boolean): readonly Order[] {
  return isBin ? LAST_DELETED_FIRST : NEWEST_FIRST;
}

function usualColumns(isBin: boolean): Shown[] {
  return DEFAULT_COLUMNS.map((name) => ({ name: isBin && name === "created" ? "deleted" : name }));
}

/** Read an address; what it does not say of columns and curve is as it was kept from last time. */
export function viewOf(query: URLSearchParams, kept: URLSearchParams = new URLSearchParams()): View {
  const columns = columnsOf(query.get("cols") ?? kept.get("cols") ?? "");
  const isBin = query.get("deleted") === "1";
  return {
    text: query.get("q") ?? "",
    project: query.get("project") ?? "",
    status: query.get("status") ?? "",
    tags: list(query.get("tag")),
    order: ordersOf(query.get("order") ?? "", isBin),
    columns: columns.length > 0 ? columns : usualColumns(isBin),
    spark: query.get("spark") ?? kept.get("spark") ?? "",
    group: query.get("group") ?? "",
    isBin,
  };
}

/** Spell columns as `name:width,name`. */
export function columnsText(columns: readonly Shown[]): string {
  return columns.map(({ name, width }) => escaped(name) + (width === undefined ? "" : `:${Math.round(width)}`)).join(",");
}

function columnsOf(text: string): Shown[] {
  const seen = new Set<string>();
  return text.split(",").flatMap((part) => {
    const [raw = "", size] = part.split(":");
    const name = unescaped(raw);
    if (!isColumn(name) || seen.has(name)) return [];
    seen.add(name);
    const width = Number(size);
    return [size === undefined || !Number.isFinite(width) ? { name } : { name, width: Math.min(WIDEST, Math.max(NARROWEST, width)) }];
  });
}

/** Spell an order as `-best,name`. */
export function orderText(order: readonly Order[]): string {
  return order.map(({ name, isFalling }) => (isFalling ? "-" : "") + escaped(name)).join(",");
}

function ordersOf(text: string, isBin: boolean): readonly Order[] {
  const orders = list(text).map((part) => ({ name: part.replace(/^-/, ""), isFalling: part.startsWith("-") }));
  return orders.length > 0 ? orders : usualOrder(isBin);
}

export function tagsText(tags: readonly string[]): string {
  return tags.map(escaped).join(",");
}

function list(text: string | null): string[] {
  return (text ?? "").split(",").filter(Boolean).map(unescaped);
}

function escaped(name: string): string {
  return name.replace(/[%,:]/g, encodeURIComponent);
}

function unescaped(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** What of the view decides which runs there are, as the server is asked. */
export function filterQuery(view: View): Query {
  return {
    project: view.project,
    status: view.status,
    tag: view.tags,
    where: whereOf(view.text),
    deleted: view.isBin ? 1 : null,
  };
}

/** The whole question but for offset and limit. */
export function listQuery(view: View): Query {
  const names = view.columns.map(({ name }) => name);
  return {
    ...filterQuery(view),
    order: view.order.map(({ name, isFalling }) => (isFalling ? "-" : "") + named(name)).join(","),
    columns: asked(names).map(named).join(","),
    spark: names.includes("spark") ? view.spark : null,
  };
}

export function isFiltered(view: View): boolean {
  return Boolean(view.text.trim() || view.project || view.status || view.tags.length > 0);
}

/** Whether the best or largest are at the top: `best` names the good first, other names the smallest. */
export function isDown({ name, isFalling }: Order): boolean {
  return isFalling !== (name === "best");
}

/** The order after a click on a column's header: best or largest first for numbers, then the other way, then as before. */
export function clicked(order: readonly Order[], name: string, isNumber: boolean, isAdding: boolean, usual = NEWEST_FIRST): readonly Order[] {
  const now = order.find((one) => one.name === name);
  const first: Order = { name, isFalling: isNumber && name !== "best" };
  const next = now === undefined ? first : now.isFalling === first.isFalling ? { name, isFalling: !first.isFalling } : null;
  if (!isAdding) {
    const isAlone = order.length === 1;
    if (!isAlone && now !== undefined) return [now];
    return next === null ? (usual[0]?.name === name ? [first] : usual) : [next];
  }
  const others = order.filter((one) => one.name !== name);
  if (now === undefined) return [...(order === usual ? [] : order), first];
  const changed = next === null ? others : order.map((one) => (one.name === name ? next : one));
  return changed.length > 0 ? changed : usual;
}

// The where language on this side: enough of it to complete names, to quote values, and to tell a search for words from a query.

import type { Fields } from "../lib/types";

const COLUMNS = [
  "name", "project", "status", "tags", "best", "best_value", "points", "duration", "created_at", "ended_at", "started_at", "updated_at",
  "id", "notes", "hostname", "exit_reason", "best_step", "best_metric", "deleted_at",
] as const;
const PREFIXES = ["config.", "summary.", "metric.", "min.", "max."] as const;
const WORDS = new Set(["and", "or", "not", "in", "like", "is", "null", "true", "false"]);
const OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "in", "like", "is null", "is not null"] as const;

/** A value as the language writes it. */
export function quoted(value: string | number | boolean): string {
  if (typeof value !== "string") return String(value);
  return `'${value.replaceAll("'", "''")}'`;
}

/** A name as the language writes it: parts with other characters stand in backquotes. */
export function named(name: string): string {
  const dot = name.indexOf(".");
  if (dot < 0 || dot === name.length - 1) return name;
  const [head, rest] = [name.slice(0, dot), name.slice(dot + 1)];
  if (/^[\w-]+(\.[\w-]+)*$/.test(rest)) return name;
  return `${head}.\`${rest}\``;
}

/** Whether a text is a search for words rather than a query: no sign, no word of the language, no name that asks for more. */
export function isPlain(text: string): boolean {
  const words = text.trim().split(/\s+/);
  return words.every((word) => /^[\p{L}\p{N}_./:@+-]+$/u.test(word) && !WORDS.has(word.toLowerCase())) && !isBegun(text);
}

/** Whether a text is a name of the language that waits for its operator. */
export function isBegun(text: string): boolean {
  const word = text.trim();
  if (tokens(word).length !== 1) return false;
  return (COLUMNS as readonly string[]).includes(word) || PREFIXES.some((prefix) => word.startsWith(prefix)) || word.startsWith("`");
}

/** The condition that a text in the query bar means: itself, or for plain words, runs that have all of them somewhere. */
export function whereOf(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "" || !isPlain(trimmed)) return trimmed;
  return trimmed
    .split(/\s+/)
    .map((word) => {
      const like = quoted(`%${word}%`);
      return `(name like ${like} or project like ${like} or id like ${like} or notes like ${like} or tags like ${like})`;
    })
    .join(" and ");
}

/** The condition that a run belongs to a group. */
export function groupWhere(by: string, value: unknown): string {
  if (value === null || value === undefined) return `${named(by)} is null`;
  const plain = typeof value === "number" || typeof value === "boolean" || typeof value === "string" ? value : JSON.stringify(value);
  return by === "tags" ? `${quoted(plain)} in tags` : `${named(by)} = ${quoted(plain)}`;
}

/** Two conditions of which either may be empty. */
export function both(first: string, second: string): string {
  return first && second ? `(${first}) and (${second})` : first || second;
}

export interface Option {
  /** What is put in. */
  text: string;
  kind: "field" | "operator" | "value" | "word";
  /** How many runs, where that is known. */
  count?: number;
}

export interface Completion {
  /** The part of the text that an option replaces. */
  from: number;
  to: number;
  options: Option[];
}

interface Token {
  kind: "number" | "text" | "name" | "word" | "symbol" | "open";
  text: string;
  start: number;
  end: number;
}

const TOKEN =
  /\s*(?:(?<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))|(?<text>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?<name>(?:[^\W\d]\w*|`[^`]+`)(?:\.(?:[\w-]+|`[^`]+`)?)*)|(?<symbol><=|>=|<>|!=|==|=|<|>|\(|\)|,)|(?<open>['"`].*|\S+))/uy;

/** Split as the server does; what cannot be read, or is not closed, is one "open" token. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  for (;;) {
    const match = TOKEN.exec(text);
    if (!match?.groups) return found;
    const [kind, word] = Object.entries(match.groups).find(([, part]) => part !== undefined) as [Token["kind"], string];
    const end = TOKEN.lastIndex;
    const isWord = kind === "name" && WORDS.has(word.toLowerCase());
    found.push({ kind: isWord ? "word" : kind, text: isWord ? word.toLowerCase() : word, start: end - word.length, end });
  }
}

/** What may stand at the caret. */
export function complete(text: string, caret: number, fields: Fields | null, most = 12): Completion {
  const before = tokens(text.slice(0, caret));
  const last = before.at(-1);
  const touches = last !== undefined && last.end === caret;
  const isPart = touches && (last.kind === "name" || last.kind === "open" || last.kind === "word");
  const typed = isPart ? last.text : "";
  const past = isPart ? before.slice(0, -1) : before;
  const from = isPart ? last.start : caret;
  return { from, to: caret, options: best(expected(past, fields), typed, most) };
}

function expected(past: readonly Token[], fields: Fields | null): Option[] {
  const last = past.at(-1);
  const before = past.at(-2);
  if (last === undefined || (last.kind === "symbol" && last.text === "(" && before?.text !== "in")) return names(fields);
  if (last.kind === "name") {
    if (before?.text === "in") return words("and", "or");
    return OPERATORS.map((text) => ({ text, kind: "operator" }));
  }
  if (last.kind === "word") {
    if (last.text === "and" || last.text === "or") return [...names(fields), ...words("not")];
    if (last.text === "not") return before?.kind === "name" ? words("in", "like") : before?.text === "is" ? words("null") : names(fields);
    if (last.text === "is") return words("null", "not null");
    if (last.text === "in") return before?.kind === "name" ? words("(") : [{ text: "tags", kind: "field" }];
    if (last.text === "like") return [];
    return words("and", "or");
  }
  if (last.kind === "symbol") {
    if (last.text === ")") return words("and", "or");
    const name = subject(past);
    return name === null ? [] : values(name, fields);
  }
  // After a value: it was compared, or it waits for what it is in.
  const isCompared = before !== undefined && (before.kind === "symbol" || before.text === "like") && subject(past.slice(0, -1)) !== null;
  return isCompared ? (subject(past.slice(0, -1), true) ? words(",", ")") : words("and", "or")) : words("in tags");
}

/** The name that the value at the end is compared with; with `inList`, only where it stands in a list. */
function subject(past: readonly Token[], inList = false): string | null {
  let at = past.length - 1;
  let isList = false;
  while (at >= 0) {
    const token = past[at] as Token;
    if (token.kind === "name") return inList && !isList ? null : token.text;
    if (token.text === "(") isList = true;
    else if (token.kind === "word" && token.text !== "in" && token.text !== "not" && token.text !== "like") return null;
    else if (token.text === ")") return null;
    at -= 1;
  }
  return null;
}

function names(fields: Fields | null): Option[] {
  const all: string[] = [...COLUMNS];
  if (fields) {
    all.push(...fields.metrics.map((name) => `metric.${name}`), ...fields.config, ...fields.summary);
    all.push(...fields.metrics.flatMap((name) => [`min.${name}`, `max.${name}`]));
  } else {
    all.push(...PREFIXES);
  }
  const tagged: Option[] = (fields?.tags ?? []).map(({ name, count }) => ({ text: `${quoted(name)} in tags`, kind: "value", count }));
  return [...all.map((text): Option => ({ text: named(text), kind: "field" })), ...tagged];
}

function values(name: string, fields: Fields | null): Option[] {
  const known = { project: fields?.projects, status: fields?.statuses, tags: fields?.tags }[name];
  return (known ?? []).map((one) => ({ text: quoted(one.name), kind: "value", count: one.count }));
}

function words(...all: string[]): Option[] {
  return all.map((text) => ({ text, kind: "word" }));
}

/** Those that fit what was typed: beginnings first, then the beginning of a part, then anywhere. */
function best(options: readonly Option[], typed: string, most: number): Option[] {
  const bare = (text: string): string => text.toLowerCase().replace(/[`'"]/g, "");
  const wanted = bare(typed);
  if (wanted === "") return options.slice(0, most);
  const ranked: { option: Option; rank: number }[] = [];
  for (const option of options) {
    const text = bare(option.text);
    const at = text.indexOf(wanted);
    if (at < 0 || text === wanted || (at > 0 && option.kind !== "field" && option.kind !== "value")) continue;
    ranked.push({ option, rank: at === 0 ? 0 : /[\w]/.test(text[at - 1] ?? "") ? 2 : 1 });
  }
  ranked.sort((a, b) => a.rank - b.rank);
  return ranked.slice(0, most).map(({ option }) => option);
}

// Words about a run that people take away: how it was started, and how to open or resume it from Python.

import type { Value } from "../lib/types";

type Environment = Readonly<Record<string, Value>>;

function quoted(text: string): string {
  return JSON.stringify(text);
}

function forShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The command that began the run, as one types it. */
export function commandOf(environment: Environment): string {
  const words = environment["argv"];
  if (!Array.isArray(words) || words.length === 0) return "";
  return ["python", ...words.map((word: Value) => forShell(String(word)))].join(" ");
}

export function gitOf(environment: Environment): { commit: string; isDirty: boolean; diff: string } | null {
  const git = environment["git"];
  if (typeof git !== "object" || git === null || Array.isArray(git)) return null;
  const { commit, dirty, diff } = git as { readonly [name: string]: Value };
  return typeof commit === "string" ? { commit, isDirty: dirty === true, diff: typeof diff === "string" ? diff : "" } : null;
}

export function openCode(folder: string, id: string): string {
  return `import playhead\n\nstore = playhead.open(${quoted(folder)}, mode="r")\nrun = store.runs[${quoted(id)}]\n`;
}

export function resumeCode(run: { project: string; name: string; id: string }): string {
  return `store.run(${quoted(run.project)}, ${quoted(run.name)}, run_id=${quoted(run.id)}, resume=True)`;
}

/** What the environment says apart from packages and the git diff, which have their own places. */
export function otherEnvironment(environment: Environment): Record<string, Value> {
  const rest: Record<string, Value> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (name === "packages") continue;
    if (name === "git" && typeof value === "object" && value !== null && !Array.isArray(value)) {
      const { diff: _diff, ...git } = value as { readonly [name: string]: Value };
      rest[name] = git;
    } else rest[name] = value;
  }
  return rest;
}

export function packagesOf(environment: Environment): [string, string][] {
  const packages = environment["packages"];
  if (typeof packages !== "object" || packages === null || Array.isArray(packages)) return [];
  return Object.entries(packages as { readonly [name: string]: Value }).map(([name, version]) => [name, String(version)]);
}

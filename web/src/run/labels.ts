/** Name runs so that no two are the same: runs may share a name, so then the end of the id tells them apart. */
export function labelsOf(runs: readonly { id: string; name: string }[]): Map<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of runs) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(runs.map(({ id, name }) => [id, (counts.get(name) ?? 0) > 1 ? `${name} · ${id.slice(-6)}` : name]));
}

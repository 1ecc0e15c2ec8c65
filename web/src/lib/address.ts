// How an address of the API is spelled.

export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

/** Spell an address under /api; what is null, undefined or an empty list is left out. */
export function address(path: string, query: Query = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    if (Array.isArray(value)) for (const one of value) parts.append(name, one);
    else parts.append(name, String(value));
  }
  const text = parts.toString();
  return `/api/${path}${text ? `?${text}` : ""}`;
}

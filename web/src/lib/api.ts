// Asking the server. Every answer that is not a success becomes an `ApiError` with the server's own words.

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly type: string,
    message: string,
    readonly position: number | null = null,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

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

async function answer(path: string, query: Query, options: RequestInit): Promise<Response> {
  const response = await fetch(address(path, query), options);
  if (response.ok) return response;
  let error: { type?: string; message?: string; position?: number } = {};
  try {
    error = ((await response.json()) as { error?: typeof error }).error ?? {};
  } catch {
    // Not JSON: something between the page and the server answered.
  }
  throw new ApiError(
    response.status,
    error.type ?? "Error",
    error.message ?? `the server answered ${response.status} ${response.statusText}`,
    error.position ?? null,
  );
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await (await answer(path, query, { signal: signal ?? null })).json()) as T;
}

export async function getBytes(path: string, query: Query = {}, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await answer(path, query, { signal: signal ?? null })).arrayBuffer();
}

export async function send<T>(method: "POST" | "PATCH", path: string, body: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return (await (await answer(path, {}, { method, headers, body: JSON.stringify(body) })).json()) as T;
}

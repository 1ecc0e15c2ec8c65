// Asking the server. Every answer that is not a success becomes an `ApiError` with the server's own words; where there is
// no answer at all it is `Unreachable`.

import { address, type Query } from "./address";
import { reached } from "./reach";

export { address, type Query };

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

async function answer(path: string, query: Query, options: RequestInit): Promise<Response> {
  const response = await reached(fetch(address(path, query), options));
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
  return (await reached((await answer(path, query, { signal: signal ?? null })).json())) as T;
}

export async function getBytes(path: string, query: Query = {}, signal?: AbortSignal): Promise<ArrayBuffer> {
  return reached((await answer(path, query, { signal: signal ?? null })).arrayBuffer());
}

export async function send<T>(method: "POST" | "PATCH", path: string, body: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return (await reached((await answer(path, {}, { method, headers, body: JSON.stringify(body) })).json())) as T;
}

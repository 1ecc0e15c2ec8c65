// What to tell a person about an error, and what to do about it.

import { ApiError } from "./api";
import { Unreachable } from "./reach";

export interface Advice {
  title: string;
  message: string;
  remedy: string;
}

/** Put an error into words. */
export function advice(error: unknown): Advice {
  if (error instanceof ApiError) {
    const message = sentence(error.message);
    switch (error.status) {
      case 401:
        return { title: "Not let in", message, remedy: "Open the link that the server printed when it started: it holds the token." };
      case 403:
        return { title: "Not allowed", message, remedy: "Open the page by the address that the server printed." };
      case 404:
        return { title: "Not found", message, remedy: "It may have been deleted or purged since this page was opened." };
      case 422:
        return { title: "Damaged or unreadable", message, remedy: "`playhead verify` says what of the store is damaged." };
      case 503:
        return { title: "The server cannot answer now", message, remedy: "" };
      default:
        return { title: error.status >= 500 ? "The server failed" : "That did not work", message, remedy: "" };
    }
  }
  if (error instanceof Unreachable) {
    return { title: "The server does not answer", message: "Is `playhead serve` still running?", remedy: "It is tried again every few seconds. This page continues by itself when the server is back." };
  }
  return { title: "Something went wrong", message: sentence(error instanceof Error ? error.message : String(error)), remedy: "Reload the page to try again." };
}

function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$|\n/.test(whole) ? whole : `${whole}.`;
}

// Which runs are chosen: some by their ids, or all that fit the filter but a few.

export type Selection = { readonly isAll: false; readonly ids: ReadonlySet<string> } | { readonly isAll: true; readonly except: ReadonlySet<string> };

export const NONE: Selection = { isAll: false, ids: new Set() };
export const ALL: Selection = { isAll: true, except: new Set() };

export function has(selection: Selection, id: string): boolean {
  return selection.isAll ? !selection.except.has(id) : selection.ids.has(id);
}

export function sizeOf(selection: Selection, total: number): number {
  return selection.isAll ? Math.max(0, total - selection.except.size) : selection.ids.size;
}

/** Choose runs, or let go of them. */
export function chosen(selection: Selection, ids: Iterable<string>, isOn: boolean): Selection {
  const next = new Set(selection.isAll ? selection.except : selection.ids);
  for (const id of ids) {
    if (selection.isAll === isOn) next.delete(id);
    else next.add(id);
  }
  return selection.isAll ? { isAll: true, except: next } : { isAll: false, ids: next };
}

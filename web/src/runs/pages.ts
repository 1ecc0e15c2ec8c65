// Rows of a long list, fetched a page at a time around what is in sight, and kept for a while.

export interface Answer<Row> {
  total: number;
  rows: Row[];
}

export type Fetch<Row> = (offset: number, limit: number, signal: AbortSignal) => Promise<Answer<Row>>;

interface Page<Row> {
  rows: Row[];
  /** Whether these are rows of an earlier moment, shown until the new ones are there. */
  isDue: boolean;
  /** Whether they are those of an earlier question. */
  isOther: boolean;
}

export class Pages<Row> {
  total: number | null = null;
  error: unknown = null;

  readonly #size: number;
  readonly #most: number;
  readonly #pages = new Map<number, Page<Row>>();
  readonly #asked = new Map<number, AbortController>();
  readonly #onChange: () => void;
  readonly #fetch: Fetch<Row>;
  #span: [first: number, last: number] = [0, 0];
  #ahead = 1;
  #era = 0;

  /**
   * @param fetch Gets rows from the server.
   * @param onChange Is called when rows, total, error or `isBusy` changed.
   * @param size Rows a page.
   * @param most Pages that are kept.
   */
  constructor(fetch: Fetch<Row>, onChange: () => void, size = 100, most = 40) {
    this.#fetch = fetch;
    this.#onChange = onChange;
    this.#size = size;
    this.#most = most;
  }

  /** The row at an index, or undefined where it is not there yet. */
  at(index: number): Row | undefined {
    return this.#pages.get(Math.floor(index / this.#size))?.rows[index % this.#size];
  }

  /** Whether something in sight is being asked for. */
  get isBusy(): boolean {
    return this.#asked.size > 0;
  }

  /** Whether what is in sight belongs to an earlier question; what is only asked for again does not. */
  get isOld(): boolean {
    const [first, last] = this.#pageSpan();
    for (let page = first; page <= last; page += 1) if (this.#pages.get(page)?.isOther) return true;
    return false;
  }

  /** All rows that are there, with their indices. */
  *loaded(): Generator<[index: number, row: Row]> {
    for (const [page, { rows }] of this.#pages) for (const [at, row] of rows.entries()) yield [page * this.#size + at, row];
  }

  /** Say which rows are in sight, both ends included; what is missing of them is fetched, and then what lies next to them. */
  want(first: number, last: number): void {
    if (first !== this.#span[0]) this.#ahead = first > this.#span[0] ? 1 : -1;
    this.#span = [first, last];
    this.#work();
  }

  /**
   * Ask again for what is in sight, which stays until the answer is there; forget the rest.
   *
   * @param isOther Whether the question is another one than before.
   */
  refresh(isOther = false): void {
    this.#era += 1;
    this.error = null;
    for (const asked of this.#asked.values()) asked.abort();
    this.#asked.clear();
    const [first, last] = this.#pageSpan();
    for (const [number, page] of this.#pages) {
      if (number < first || number > last) this.#pages.delete(number);
      else [page.isDue, page.isOther] = [true, page.isOther || isOther];
    }
    this.#work();
  }

  /** Change rows in place: give the new row, or the same one to leave it. */
  patch(change: (row: Row) => Row): void {
    let isChanged = false;
    for (const page of this.#pages.values()) {
      for (const [at, row] of page.rows.entries()) {
        const next = change(row);
        if (next === row) continue;
        page.rows[at] = next;
        isChanged = true;
      }
    }
    if (isChanged) this.#onChange();
  }

  stop(): void {
    this.#era += 1;
    for (const asked of this.#asked.values()) asked.abort();
    this.#asked.clear();
  }

  #pageSpan(): [number, number] {
    const last = this.total === null ? this.#span[1] : Math.max(0, Math.min(this.#span[1], this.total - 1));
    return [Math.floor(Math.min(this.#span[0], last) / this.#size), Math.floor(last / this.#size)];
  }

  #work(): void {
    const [first, last] = this.#pageSpan();
    // What was asked for and has left the sight would only delay what is in it.
    for (const [number, asked] of this.#asked) {
      if (number >= first - 1 && number <= last + 1) continue;
      asked.abort();
      this.#asked.delete(number);
    }
    if (this.error !== null) return;
    for (let number = first; number <= last; number += 1) this.#load(number);
    if (this.#asked.size > 0 || this.total === null) return;
    const end = Math.floor(Math.max(0, this.total - 1) / this.#size);
    const next = this.#ahead > 0 ? last + 1 : first - 1;
    const other = this.#ahead > 0 ? first - 1 : last + 1;
    for (const number of [next, other]) {
      if (number < 0 || number > end || this.#asked.size > 0) continue;
      this.#load(number);
    }
  }

  #load(number: number): void {
    const there = this.#pages.get(number);
    if ((there && !there.isDue) || this.#asked.has(number)) return;
    const asked = new AbortController();
    const era = this.#era;
    this.#asked.set(number, asked);
    this.#fetch(number * this.#size, this.#size, asked.signal).then(
      (answer) => {
        if (era !== this.#era || asked.signal.aborted) return;
        this.#asked.delete(number);
        this.#keep(number, answer);
        this.#work();
        this.#onChange();
      },
      (error: unknown) => {
        if (era !== this.#era || asked.signal.aborted) return;
        this.#asked.delete(number);
        this.error = error;
        this.#onChange();
      },
    );
  }

  #keep(number: number, answer: Answer<Row>): void {
    // A total that grew or shrank moved the rows: other pages are of another moment.
    if (this.total !== null && this.total !== answer.total) {
      for (const [other, page] of this.#pages) if (other !== number) page.isDue = true;
    }
    this.total = answer.total;
    this.#pages.set(number, { rows: answer.rows, isDue: false, isOther: false });
    const end = Math.floor(Math.max(0, answer.total - 1) / this.#size);
    for (const other of [...this.#pages.keys()]) if (other > end) this.#pages.delete(other);
    const [first] = this.#pageSpan();
    const far = [...this.#pages.keys()].sort((a, b) => Math.abs(b - first) - Math.abs(a - first));
    for (const other of far.slice(0, Math.max(0, far.length - this.#most))) this.#pages.delete(other);
  }
}

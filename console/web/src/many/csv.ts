// CSV (RFC 4180), with cells that no spreadsheet runs.

export interface Line {
  /** The number of the line that the row begins on. */
  line: number;
  cells: string[];
  /** Whether a quote is missing in it. */
  broken: boolean;
}

/** parse reads rows. Empty lines are left out. */
export function parse(text: string, separator: string): Line[] {
  const rows: Line[] = [];
  let line = 1;
  for (let at = 0; at < text.length; ) {
    const row: Line = { line, cells: [], broken: false };
    for (let more = true; more; ) {
      let cell = "";
      if (text[at] === '"') {
        let end = at + 1;
        for (;;) {
          const quote = text.indexOf('"', end);
          if (quote < 0) {
            row.broken = true;
            cell += text.slice(end);
            end = text.length;
            break;
          }
          cell += text.slice(end, quote);
          end = quote + 1;
          if (text[end] !== '"') break;
          cell += '"';
          end++;
        }
        at = end;
      }
      const rest = at;
      while (at < text.length && text[at] !== separator && text[at] !== "\n") at++;
      if (rest < at) {
        const tail = text.slice(rest, at).replace(/\r$/, "");
        if (tail.includes('"') || (cell !== "" && tail !== "")) row.broken = true;
        cell += tail;
      }
      row.cells.push(cell);
      more = text[at] === separator;
      if (more) at++;
    }
    if (text[at] === "\n") at++;
    for (const cell of row.cells) for (const c of cell) if (c === "\n") line++;
    line++;
    if (row.cells.length > 1 || row.cells[0] !== "") rows.push(row);
  }
  return rows;
}

/** separatorOf returns what separates the names in the first line. */
export function separatorOf(text: string): string {
  const head = text.slice(0, (text + "\n").indexOf("\n")).replace(/"[^"]*"/g, "");
  return head.includes(",") ? "," : head.includes("\t") ? "\t" : head.includes(";") ? ";" : ",";
}

/** defused puts an apostrophe before a text that a spreadsheet would run, and before one that has such an apostrophe already. */
export const defused = (text: string): string => (/^'*[=+\-@\t\r\n]/.test(text) ? `'${text}` : text);

/** plain takes the apostrophe of defused away. */
export const plain = (text: string): string => (/^'+[=+\-@\t\r\n]/.test(text) ? text.slice(1) : text);

/** row returns a line of cells. */
export const row = (cells: string[]): string => cells.map((cell) => (/[",\r\n;\t]|^\s|\s$/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell)).join(",") + "\r\n";

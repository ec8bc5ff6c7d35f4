// JSON of which no number loses digits: the service has 64-bit integers, and JavaScript has those
// up to 2^53 alone.

/** An integer that a number of JavaScript cannot hold, as it is written. */
export class Exact {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
  toJSON(): unknown {
    return (JSON as any).rawJSON(this.text);
  }
}

/** An integer, as a number if that holds it; null if it cannot be kept exactly. */
export function integer(text: string): number | Exact | null {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  if (!("rawJSON" in JSON) || !/^-?\d{1,19}$/.test(text) || BigInt.asIntN(64, BigInt(text)) !== BigInt(text)) return null;
  return new Exact(text);
}

/** Parses a text. A browser that does not know how numbers are written rounds them. */
export const parseJson = (text: string): any => (/\d{16}/.test(text) ? (JSON.parse as any)(text, exact) : JSON.parse(text));

function exact(_: string, value: unknown, at?: { source: string }): unknown {
  return typeof value === "number" && !Number.isSafeInteger(value) && at && /^-?\d+$/.test(at.source) ? (integer(at.source) ?? value) : value;
}

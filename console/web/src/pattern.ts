// Regular expressions in the syntax of RE2, as the service evaluates them: all ways through an
// expression are followed at once, so that the time is bounded, which that of the browser's own is not.

/** Instructions of a program. A step takes a character, or follows to the next ones if its place fits. */
type Step = { takes: (c: string) => boolean } | { to: number[] } | { at: (before: string, after: string) => boolean } | { end: true };

/** How long a program may be, and how many steps a text may take. */
const [longest, most] = [5_000, 1_000_000];

class Unknown extends Error {}

const classes: Record<string, string> = {
  alnum: "0-9A-Za-z", alpha: "A-Za-z", ascii: "\\x00-\\x7F", blank: "\\t ", cntrl: "\\x00-\\x1F\\x7F", digit: "0-9", graph: "!-~", lower: "a-z",
  print: " -~", punct: "!-\\/:-@\\[-`\\{-~", space: "\\t\\n\\v\\f\\r ", upper: "A-Z", word: "0-9A-Za-z_", d: "0-9", s: "\\t\\n\\f\\r ", w: "0-9A-Za-z_",
};
const escapes: Record<string, string> = { a: "\x07", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };
const word = (c: string) => /^\w$/.test(c);
const code = (c: string) => `\\u{${c.codePointAt(0)!.toString(16)}}`;

class Compiler {
  readonly program: Step[] = [];
  private readonly text: string[];
  private i = 0;
  private added = 0;
  private flags = "";

  constructor(pattern: string) {
    this.text = [...pattern];
    this.alternatives();
    if (this.i < this.text.length) throw new Unknown();
    this.add({ end: true });
  }

  private add(step: Step): number {
    if (this.program.length >= longest || ++this.added > 10 * longest) throw new Unknown();
    return this.program.push(step) - 1;
  }

  private eat(text: string): boolean {
    const found = this.text.slice(this.i, this.i + text.length).join("") === text;
    if (found) this.i += text.length;
    return found;
  }

  private alternatives(): void {
    const ends: { to: number[] }[] = [];
    for (;;) {
      const choice = { to: [this.program.length + 1] };
      this.add(choice);
      while (this.i < this.text.length && this.text[this.i] !== "|" && this.text[this.i] !== ")") this.repeated();
      if (!this.eat("|")) break;
      const end = { to: [] as number[] };
      this.add(end);
      ends.push(end);
      choice.to.push(this.program.length);
    }
    for (const end of ends) end.to.push(this.program.length);
  }

  /** An atom, as often as it is repeated: it is compiled again each time. */
  private repeated(): void {
    const [begin, start, flags] = [this.i, this.program.length, this.flags];
    this.atom();
    const kept = this.flags;
    for (;;) {
      const count = /^\{(\d+)(,(\d*))?\}/.exec(this.text.slice(this.i, this.i + 12).join(""));
      const sign = this.text[this.i]!;
      if (!count && !["*", "+", "?"].includes(sign)) break;
      const after = this.i + (count ? count[0].length : 1);
      const least = count ? Number(count[1]) : sign === "+" ? 1 : 0;
      const times = count ? (count[2] ? (count[3] ? Number(count[3]) : Infinity) : least) : sign === "?" ? 1 : Infinity;
      const again = () => {
        this.i = begin;
        this.flags = flags;
        this.atom();
      };
      this.program.length = start;
      for (let n = 0; n < least; n++) again();
      const left: { to: number[] }[] = [];
      for (let n = least; n < Math.min(times, least + (times === Infinity ? 1 : longest)); n++) {
        const choice = { to: [this.program.length + 1] };
        const at = this.add(choice);
        left.push(choice);
        again();
        if (times === Infinity) this.add({ to: [at] });
      }
      for (const choice of left) choice.to.push(this.program.length);
      this.i = after;
      this.eat("?");
      if (["*", "+", "?"].includes(this.text[this.i]!)) throw new Unknown(); // RE2 refuses it
      break;
    }
    this.flags = kept;
  }

  private atom(): void {
    const c = this.text[this.i++]!;
    const lines = this.flags.includes("m");
    if (c === "(") this.group();
    else if (c === "[") this.takes(this.set());
    else if (c === ".") this.takes(this.flags.includes("s") ? "[^]" : "[^\\n]");
    else if (c === "^") this.add({ at: (before) => before === "" || (lines && before === "\n") });
    else if (c === "$") this.add({ at: (_, after) => after === "" || (lines && after === "\n") });
    else if (c !== "\\") this.takes(code(c));
    else if (this.eat("A")) this.add({ at: (before) => before === "" });
    else if (this.eat("z")) this.add({ at: (_, after) => after === "" });
    else if (this.eat("b")) this.add({ at: (before, after) => word(before) !== word(after) });
    else if (this.eat("B")) this.add({ at: (before, after) => word(before) === word(after) });
    else this.takes(`[${this.escape()}]`);
  }

  private group(): void {
    const kept = this.flags;
    if (this.eat("?")) {
      const found = /^(?:P?<\w+>|([imsU]*)(?:-([imsU]+))?([:)]))/.exec(this.text.slice(this.i, this.i + 100).join(""));
      if (!found) throw new Unknown();
      this.i += found[0].length;
      this.flags = [...this.flags + (found[1] ?? "")].filter((flag) => !found[2]?.includes(flag)).join("");
      if (found[3] === ")") return; // for the rest of the group around it
    }
    this.alternatives();
    if (!this.eat(")")) throw new Unknown();
    this.flags = kept;
  }

  /** What an escape stands for, as a part of a class of the browser. */
  private escape(): string {
    const c = this.text[this.i++];
    if (c === undefined || /[1-9CQ]/.test(c)) throw new Unknown();
    if (/[dsw]/.test(c)) return classes[c]!;
    if (/[DW]/.test(c)) return "\\" + c;
    if (c === "S") return "\\S\\v\\u{85}\\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}\\u{2029}\\u{202f}\\u{205f}\\u{3000}\\u{feff}";
    const rest = this.text.slice(this.i, this.i + 40).join("");
    const found = /[pP]/.test(c) ? /^(?:\{\^?(\w+)\}|([A-Z]))/.exec(rest) : c === "x" ? /^(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))/.exec(rest) : undefined;
    if (found === null) throw new Unknown();
    if (!found) return code(escapes[c] ?? c);
    this.i += found[0].length;
    const name = (found[1] ?? found[2])!;
    if (c === "x") return `\\u{${name}}`;
    const negated = (c === "P") !== found[0].includes("^");
    return `\\${negated ? "P" : "p"}{${name.length > 2 ? "Script=" : ""}${name}}`;
  }

  private set(): string {
    let out = this.eat("^") ? "[^" : "[";
    for (let first = true; first || this.text[this.i] !== "]"; first = false) {
      const posix = /^\[:(\^?)(\w+):\]/.exec(this.text.slice(this.i, this.i + 12).join(""));
      if (this.i >= this.text.length || posix?.[1] || (posix && !classes[posix[2]!])) throw new Unknown();
      if (posix) {
        this.i += posix[0].length;
        out += classes[posix[2]!];
        continue;
      }
      const c = this.text[this.i++]!;
      if (c === "\\") out += this.escape();
      else out += c === "-" && !first && this.text[this.i] !== "]" ? "-" : code(c);
    }
    this.i++;
    return out + "]";
  }

  private takes(set: string): void {
    const one = new RegExp(`^${set}$`, this.flags.includes("i") ? "iu" : "u"); // throws if it is none
    this.add({ takes: (c) => one.test(c) });
  }
}

const known = new Map<string, { test(text: string): boolean } | undefined>();

/** expression compiles a pattern of RE2, as far as it is understood. What would take too long counts as a match. */
export function expression(pattern: string): { test(text: string): boolean } | undefined {
  if (!known.has(pattern)) known.set(pattern, compile(pattern));
  return known.get(pattern);
}

function compile(pattern: string): { test(text: string): boolean } | undefined {
  let program: Step[];
  try {
    program = new Compiler(pattern).program;
  } catch {
    return undefined;
  }
  return { test: (text) => text.length * program.length > most || run(program, [...text]) };
}

function run(program: Step[], text: string[]): boolean {
  let now: number[] = [];
  for (let i = 0; i <= text.length; i++) {
    const [before, after] = [text[i - 1] ?? "", text[i] ?? ""];
    const reached = new Set<number>();
    const next: number[] = [];
    const waiting = [0, ...now];
    while (waiting.length > 0) {
      const pc = waiting.pop()!;
      if (reached.has(pc)) continue;
      reached.add(pc);
      const step = program[pc]!;
      if ("end" in step) return true;
      if ("to" in step) waiting.push(...step.to);
      else if ("at" in step) step.at(before, after) && waiting.push(pc + 1);
      else if (after !== "" && step.takes(after)) next.push(pc + 1);
    }
    now = next;
  }
  return false;
}

// Conditions of lists, as the service writes them: a=b; c in d,e; f is null.

export interface Condition {
  property: string;
  operator: string;
  value: string;
}

export const unary = (operator: string) => operator.endsWith("null");

/** The parts of a text between separators that are not in double quotes. */
function parts(text: string, separator: string): string[] {
  const found = [""];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === separator && !quoted) {
      found.push("");
      continue;
    }
    if (c === '"') quoted = !quoted;
    found[found.length - 1] += c;
    if (c === "\\" && quoted && i + 1 < text.length) found[found.length - 1] += text[++i];
  }
  return found;
}

/** The conditions of a text, or null if it has others than a form can show. */
export function parse(text: string): Condition[] | null {
  const found: Condition[] = [];
  for (const part of parts(text, ";")) {
    if (!part.trim()) continue;
    const match = /^\s*([^\s=!<>"]+)\s*(is\s+not\s+null|is\s+null|not\s+in\b|in\b|!=|>=|<=|=|>|<)\s*([^]*)$/i.exec(part);
    if (!match) return null;
    const operator = match[2].toLowerCase().replace(/\s+/g, " ");
    const value = unary(operator) ? "" : operator.endsWith("in") ? parts(match[3], ",").map(unquoted).join(", ") : unquoted(match[3]);
    found.push({ property: match[1], operator, value });
  }
  return found;
}

/** The text of conditions. Those that need a value and have none are left out. */
export function format(conditions: Condition[]): string {
  return conditions
    .filter(({ operator, value }) => unary(operator) || value.trim() !== "")
    .map(({ property, operator, value }) => {
      if (unary(operator)) return `${property} ${operator}`;
      if (operator.endsWith("in")) return `${property} ${operator} ${value.split(",").map((one) => quoted(one.trim())).join(",")}`;
      return `${property}${operator}${quoted(value)}`;
    })
    .join("; ");
}

const unquoted = (text: string) => {
  const trimmed = text.trim();
  return /^"[^]*"$/.test(trimmed) ? trimmed.slice(1, -1).replace(/\\(["\\])/g, "$1") : trimmed;
};

const quoted = (value: string) => (/[;,"\\]|^[=<>\s]|\s$|\bor\b/i.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value);

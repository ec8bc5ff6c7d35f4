// Elements of a page, which take texts as text.

/**
 * Makes an element with properties, and with texts and elements in it.
 * @template {keyof HTMLElementTagNameMap} N
 * @param {N} name
 * @param {Record<string, any>} [properties]
 * @param {(string | Node)[]} children
 * @returns {HTMLElementTagNameMap[N]}
 */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) Reflect.set(made, key, value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/**
 * Makes a button.
 * @param {string} text
 * @param {(event: MouseEvent & {currentTarget: HTMLElement}) => void} onclick
 */
export const button = (text, onclick) => element("button", { type: "button", onclick }, text);

"use strict";

// Components of Swagger UI that are rendered with other properties.
const adjusted = (adjust) => (Original, { React }) => (props) => React.createElement(Original, { ...props, ...adjust(props) });
const accessible = {
  wrapComponents: {
    // The name of a button contains its text.
    Button: adjusted(({ children, "aria-label": label }) => ({ "aria-label": label && `${children}: ${label}` })),
    // The path is in the button that opens the operation, in which there is no link. The button changes the address.
    OperationSummaryPath: adjusted(({ operationProps }) => ({ operationProps: operationProps.set("isDeepLinkingEnabled", false) })),
  },
};

// The token is kept in the page alone: nothing is stored in the browser.
SwaggerUIBundle({
  url: "/api/openapi.json",
  dom_id: "#documentation",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
  // A document of another origin, which a link could name, is not loaded.
  queryConfigEnabled: false,
  // Its colours have the contrast of text.
  syntaxHighlight: { theme: "arta" },
  plugins: [accessible],
});

// What Swagger UI gives no name, and the name it gets. React keeps attributes that it does not know.
const unnamed = [
  [".close-modal", () => "Close"],
  [".copy-to-clipboard > button", () => "Copy to clipboard"],
  [".examples-select-element", () => "Examples"],
  ["[data-param-name] :is(input, select, textarea):not(label *)", (e) => e.closest("[data-param-name]").dataset.paramName],
  ["[data-property-name] :is(input, select, textarea):not(label *)", (e) => e.closest("[data-property-name]").dataset.propertyName],
  ["textarea.body-param__text", () => "Request body"],
  [".json-schema-2020-12-accordion:has(> .json-schema-2020-12-accordion__children:empty)", () => "Schema"],
];

function mend() {
  for (const [selector, name] of unnamed) {
    for (const e of document.querySelectorAll(`${selector}:not([aria-label])`)) e.setAttribute("aria-label", name(e));
  }
  // A table is no region: as one, it loses its rows.
  for (const e of document.querySelectorAll("table[role=region]")) e.removeAttribute("role");
  // Under a heading of level 4.
  for (const e of document.querySelectorAll(".auth-container h6")) e.setAttribute("aria-level", "5");
  // The keyboard scrolls what has the focus.
  for (const e of document.querySelectorAll("pre.microlight")) {
    if (e.scrollHeight > e.clientHeight || e.scrollWidth > e.clientWidth) e.tabIndex = 0;
  }
}

new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", mend);

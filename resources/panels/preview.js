// The page of a creative, in a frame that the creative cannot leave.
import { button, element } from "./element.js";

/** The sizes that a frame can have, in pixels. */
const [least, most] = [50, 4000];

/** How long a frame that has loaded may take to say that it shows the preview, in milliseconds. */
const patience = 1000;

/** @type {import("../../console/web/src/module").Panel["show"]} */
export function preview(root, place, console) {
  const { t } = console;
  const status = element("span", { role: "status" });
  const stage = element("div", { className: "stage" });
  const elsewhere = element("input", { type: "checkbox" });
  const stop = button(t("preview.stop"), () => end(t("preview.stopped")));
  stop.hidden = true;
  let asked = 0;
  let running = new AbortController();

  const end = (/** @type {string} */ text) => {
    asked++;
    running.abort();
    stage.replaceChildren();
    stop.hidden = true;
    status.textContent = text;
  };
  const start = async () => {
    end(t("preview.loading"));
    const turn = asked;
    const path = `/api/console/previews/${place.type}/${encodeURIComponent(place.id)}?${new URLSearchParams({ context: place.network, elsewhere: String(elsewhere.checked) })}`;
    const answer = await console.api.get(path);
    if (turn !== asked || !root.isConnected) return;
    if (answer.status !== 200) return end(console.explain(answer));
    if (!answer.body.path) return end(t("preview.nothing"));
    const { width, height } = place.object;
    const frame = element("iframe", { title: t("preview.frame"), src: "about:blank" });
    // Neither the origin of the console nor its window: a script of the creative has a page of its own.
    frame.setAttribute("sandbox", "allow-scripts");
    frame.setAttribute("allow", "");
    frame.referrerPolicy = "no-referrer";
    frame.style.width = `${size(width, 300)}px`;
    frame.style.height = `${size(height, 250)}px`;
    frame.src = answer.body.path;
    // A frame that has loaded may have an answer of any kind. A preview says that it is one.
    running = new AbortController();
    let heard = false;
    const hear = (/** @type {MessageEvent} */ { source, data }) => {
      if (source !== frame.contentWindow || data !== "shown") return;
      heard = true;
      status.textContent = t("preview.shown");
    };
    addEventListener("message", hear, { signal: running.signal });
    frame.addEventListener("load", () =>
      setTimeout(() => {
        if (turn === asked && !heard) status.textContent = t("preview.lost");
        heard = false; // a creative can lead its own frame elsewhere
      }, patience),
    );
    stage.replaceChildren(frame);
    stop.hidden = false;
  };

  root.append(
    element("p", { className: "actions" }, button(t("preview.show"), () => void start()), stop, status),
    element("label", { className: "check" }, elsewhere, t("preview.elsewhere")),
    stage,
  );
  return () => end("");
}

const size = (/** @type {unknown} */ value, /** @type {number} */ usual) => Math.min(most, Math.max(least, Number(value) || usual));

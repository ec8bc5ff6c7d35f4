// The files of a creative: uploads with their progress, and what has been uploaded.
import { button, element } from "./element.js";

/** How many files are listed. */
const listed = 100;

/** The types of files that an image shows. Drawings can take any time, and are shown when somebody asks for that. */
const images = /^image\/(jpeg|png|gif|webp)$/;

/** How large a picture can be, in bytes and in pixels, to be shown beside its name. */
const [maxBytes, maxPixels] = [10_000_000, 25_000_000];

/** How many files can wait with their pictures. */
const maxSeen = 20;

/** @type {import("../../console/web/src/module").Panel["show"]} */
export function files(root, place, console) {
  const { t } = console;
  const ended = new AbortController();
  const sent = element("ul", { className: "files" });
  const stored = element("ul", { className: "files" });
  const status = element("p", { className: "hint", role: "status" });
  const faults = element("div");
  const path = (/** @type {Record<string, string>} */ query) => console.pathOf("assets", place.network, place.id, query);

  const bytes = (/** @type {unknown} */ size) => {
    const n = Number(size);
    return n < 1000 ? t("files.size.B", { size: n }) : n < 1e6 ? t("files.size.kB", { size: (n / 1e3).toFixed(1) }) : t("files.size.MB", { size: (n / 1e6).toFixed(1) });
  };
  const read = async () => {
    const answer = await console.api.get(path({ pageSize: String(listed), orderBy: "createTime", orderByDirection: "DESCENDING", includeInactive: "true" }));
    if (ended.signal.aborted) return;
    if (answer.status !== 200) return console.showFaults(faults, answer);
    stored.replaceChildren(...answer.body.results.map((/** @type {any} */ asset) => row(asset)));
    const { totalCount } = answer.body;
    status.textContent = t(totalCount === 0 ? "files.none" : totalCount > listed ? "files.newest" : "files.count", { count: totalCount, listed });
  };

  /** A file that the service has. */
  const row = (/** @type {any} */ asset) => {
    const name = element("a", { href: console.objectAddress(place.network, "assets", place.id, asset.id), dir: "auto" }, console.visible(asset.fileName ?? asset.id));
    const facts = [kind(asset.mimeType), bytes(asset.fileSizeBytes), asset.width ? `${asset.width} × ${asset.height}` : "", asset.objectState === "ACTIVE" ? "" : String(asset.objectState ?? "")];
    // Files of another host are not shown, as the policy of the console has its own files only.
    const shown = /^IMAGE_/.test(asset.mimeType) && asset.cdnId?.startsWith("/") && asset.objectState !== "INACTIVE";
    const small = asset.fileSizeBytes <= maxBytes && asset.width * asset.height <= maxPixels;
    const sight = !shown ? [] : asset.mimeType !== "IMAGE_SVG" ? [small ? picture(asset.cdnId) : none(t("files.large"))] : [button(t("files.show"), ({ currentTarget }) => currentTarget.replaceWith(picture(asset.cdnId)))];
    return element("li", {}, ...sight, element("span", {}, name, element("span", { className: "hint" }, ` ${facts.filter(Boolean).join(" · ")}`)));
  };

  /** Lists a file, and returns what sends it. */
  const upload = (/** @type {File} */ file) => {
    const cancelled = new AbortController();
    ended.signal.addEventListener("abort", () => cancelled.abort());
    const label = console.visible(file.name);
    const bar = element("progress", { max: 1, value: 0, "aria-label": t("files.progress", { name: label }) });
    const said = element("span", { role: "status" }, t("files.waiting"));
    const cancel = button(t("files.cancel"), () => (cancelled.abort(), stop(t("files.cancelled"))));
    cancel.setAttribute("aria-label", t("files.cancel.label", { name: label }));
    const sight = element("span", { className: "sight" });
    const item = element("li", {}, sight, element("span", {}, element("bdi", {}, label), " ", bar, " ", said, " ", cancel));
    sent.append(item);
    const forget = sent.children.length > maxSeen ? () => {} : preview(sight, file, t);
    const stop = (/** @type {string} */ why) => {
      bar.remove();
      cancel.replaceWith(button(t("files.close"), () => item.remove()));
      said.className = "fault";
      said.setAttribute("role", "alert");
      said.textContent = why;
    };
    const send = async () => {
      if (cancelled.signal.aborted) return;
      const form = new FormData();
      form.append("file", file);
      const answer = await console.api.upload(
        path({}),
        form,
        (done, total) => {
          bar.max = total;
          bar.value = done;
          said.textContent = done < total ? t("files.sent", { sent: bytes(done), size: bytes(total) }) : t("files.checking");
        },
        cancelled.signal,
      );
      if (ended.signal.aborted) return;
      if (answer.status === 200 || answer.status === 201) item.remove();
      else if (!cancelled.signal.aborted) stop(answer.status === 0 ? t("files.lost", { reason: console.explain(answer) }) : console.explain(answer));
      await read();
    };
    // Whatever becomes of one file, the next ones are sent.
    return () =>
      send()
        .catch(() => ended.signal.aborted || stop(t("files.failed")))
        .finally(forget);
  };

  const input = element("input", { type: "file", multiple: true });
  // One after another, so that the files of a network do not wait for each other on the server.
  let last = Promise.resolve();
  let waiting = 0;
  let release = () => {};
  const add = (/** @type {FileList | null | undefined} */ list) => {
    for (const file of list ?? []) {
      if (waiting++ === 0) release = console.guard(t("files.leave"));
      const send = upload(file);
      last = last.then(send).then(() => void (--waiting === 0 && release()));
    }
  };
  input.addEventListener("change", () => {
    add(input.files);
    input.value = "";
  });
  root.addEventListener("dragover", (event) => event.preventDefault());
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    add(event.dataTransfer?.files);
  });
  root.append(element("label", {}, element("span", {}, t("files.upload")), input), sent, faults, status, stored);
  void read();
  return () => {
    ended.abort();
    release();
  };
}

/** Says that there is no picture to be seen. */
const none = (/** @type {string} */ why) => element("span", { className: "hint" }, why);

/**
 * Shows a picture of a file that is not too large, or says that there is none. Returns how to forget it.
 * @param {HTMLElement} place
 * @param {File} file
 * @param {import("../../console/web/src/module").Console["t"]} t
 */
function preview(place, file, t) {
  if (!file.type.startsWith("image/")) return () => {};
  if (!images.test(file.type) || file.size > maxBytes) {
    place.append(none(t(file.size > maxBytes ? "files.large" : "files.unseen")));
    return () => {};
  }
  const address = URL.createObjectURL(file);
  const image = element("img", { alt: "", decoding: "async" });
  // What is not on the page is not decoded, but its size is read.
  image.onload = () => place.append(image.naturalWidth * image.naturalHeight > maxPixels ? none(t("files.large")) : image);
  image.onerror = () => place.append(none(t("files.unseen")));
  image.src = address;
  return () => URL.revokeObjectURL(address);
}

const picture = (/** @type {string} */ src) => element("img", { src, alt: "", loading: "lazy" });

/** IMAGE_PNG is "PNG". */
const kind = (/** @type {unknown} */ type) => String(type ?? "").replace(/^[A-Z]+_/, "");

// The files of a creative: uploads with their progress, and what has been uploaded.
import { button, element } from "./element.js";

/** How many files are listed. */
const listed = 100;

/** The types of files that an image shows. */
const images = /^image\/(jpeg|png|gif|webp|svg\+xml)$/;

/** @type {import("../../console/web/src/module").Panel["show"]} */
export function files(root, place, console) {
  const ended = new AbortController();
  const sent = element("ul", { className: "files" });
  const stored = element("ul", { className: "files" });
  const status = element("p", { className: "hint", role: "status" });
  const faults = element("div");
  const path = (/** @type {Record<string, string>} */ query) => console.pathOf("assets", place.network, place.id, query);

  const read = async () => {
    const answer = await console.api.get(path({ pageSize: String(listed), orderBy: "createTime", orderByDirection: "DESCENDING", includeInactive: "true" }));
    if (ended.signal.aborted) return;
    if (answer.status !== 200) return console.showFaults(faults, answer);
    stored.replaceChildren(...answer.body.results.map((/** @type {any} */ asset) => row(asset)));
    const { totalCount } = answer.body;
    status.textContent = totalCount === 0 ? "No files yet." : totalCount > listed ? `The newest ${listed} of ${totalCount} files` : totalCount === 1 ? "1 file" : `${totalCount} files`;
  };

  /** A file that the service has. */
  const row = (/** @type {any} */ asset) => {
    const name = element("a", { href: console.objectAddress(place.network, "assets", `${place.id}/${asset.id}`), dir: "auto" }, console.visible(asset.fileName ?? asset.id));
    const facts = [kind(asset.mimeType), bytes(asset.fileSizeBytes), asset.width ? `${asset.width} × ${asset.height}` : "", asset.objectState === "ACTIVE" ? "" : String(asset.objectState ?? "")];
    // Files of another host are not shown, as the policy of the console has its own files only.
    const shown = /^IMAGE_/.test(asset.mimeType) && asset.cdnId?.startsWith("/") && asset.objectState !== "INACTIVE";
    return element("li", {}, ...(shown ? [picture(asset.cdnId)] : []), element("span", {}, name, element("span", { className: "hint" }, ` ${facts.filter(Boolean).join(" · ")}`)));
  };

  const upload = async (/** @type {File} */ file) => {
    const cancelled = new AbortController();
    ended.signal.addEventListener("abort", () => cancelled.abort());
    const label = console.visible(file.name);
    const bar = element("progress", { max: 1, value: 0, "aria-label": `Upload of ${label}` });
    const said = element("span", { role: "status" }, `0 of ${bytes(file.size)}`);
    const cancel = button("Cancel", () => cancelled.abort());
    cancel.setAttribute("aria-label", `Cancel the upload of ${label}`);
    const address = images.test(file.type) ? URL.createObjectURL(file) : "";
    const item = element("li", {}, ...(address ? [picture(address)] : []), element("span", {}, element("bdi", {}, label), " ", bar, " ", said, " ", cancel));
    sent.append(item);
    const form = new FormData();
    form.append("file", file);
    const answer = await console.api.upload(
      path({}),
      form,
      (done, total) => {
        bar.max = total;
        bar.value = done;
        said.textContent = done < total ? `${bytes(done)} of ${bytes(total)}` : "The service is checking the file…";
      },
      cancelled.signal,
    );
    if (address) URL.revokeObjectURL(address);
    if (ended.signal.aborted) return;
    bar.remove();
    if (answer.status === 200 || answer.status === 201) {
      item.remove();
    } else {
      const lost = answer.status === 0;
      cancel.replaceWith(button("Close", () => item.remove()));
      said.className = "fault";
      said.setAttribute("role", "alert");
      said.textContent = cancelled.signal.aborted ? "Cancelled." : lost ? `${console.explain(answer)} Look at the list below before you send the file again.` : console.explain(answer);
    }
    await read();
  };

  const input = element("input", { type: "file", multiple: true });
  // One after another, so that the files of a network do not wait for each other on the server.
  let last = Promise.resolve();
  const add = (/** @type {FileList | null | undefined} */ list) => {
    for (const file of list ?? []) last = last.then(() => (ended.signal.aborted ? undefined : upload(file)));
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
  root.append(element("label", {}, element("span", {}, "Upload files: images, videos, HTML pages and bundles. You can also drop them here."), input), sent, faults, status, stored);
  void read();
  return () => ended.abort();
}

const picture = (/** @type {string} */ src) => element("img", { src, alt: "", loading: "lazy" });

/** IMAGE_PNG is "PNG". */
const kind = (/** @type {unknown} */ type) => String(type ?? "").replace(/^[A-Z]+_/, "");

const bytes = (/** @type {unknown} */ size) => {
  const n = Number(size);
  return n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1e3).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;
};

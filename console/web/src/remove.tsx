// Removing an object, after a question.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, pathOf, type Answer } from "./api";
import { removed } from "./list";
import { navigate, to } from "./router";
import { brief, t } from "./texts";
import { Messages } from "./values";

/** What is said of answers, in place of the messages of the service. */
const said: Record<number, string> = { 0: "remove.lost", 404: "remove.gone", 412: "remove.changed" };

/** A dialog that asks whether to remove an object, and removes it if nobody has changed it since it was shown. */
export function Remove(props: { network: string; type: string; ids: string[]; etag: string; name: string; onLook: () => void; onClose: () => void }) {
  const { network, type, ids } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [answer, show] = useState<Answer | "awaited" | null>(null);
  const [lost, lose] = useState(false);
  useLayoutEffect(() => dialog.current!.showModal(), []); // before the next key is pressed
  const leave = () => navigate(to.list(network, type) + (ids.length > 1 ? `?${new URLSearchParams({ parent: ids[0]! })}` : ""), { replace: true });
  const remove = async () => {
    if (answer === "awaited") return;
    show("awaited");
    const now = await api.send("DELETE", pathOf(type, network, ids), undefined, { "If-Match": props.etag });
    if (!dialog.current) return; // it was closed meanwhile, and the page says what has become of the object
    if (now.status !== 204 && !(lost && now.status === 404)) {
      if (now.status === 0) lose(true);
      return show(now);
    }
    removed.name = props.name;
    leave();
  };
  const look = () => {
    dialog.current!.close();
    props.onLook();
  };
  const refused = answer === "awaited" ? null : answer;
  const code = refused && said[refused.status];
  return (
    <dialog ref={dialog} aria-labelledby="remove" aria-describedby="remove-hint" onClose={props.onClose}>
      <h2 id="remove">{t("remove.title", { name: brief(props.name) })}</h2>
      <p id="remove-hint">{t("remove.hint")}</p>
      {refused && <Messages status={refused.status} messages={code ? [{ code, text: "" }] : refused.body?.messages} />}
      <p class="actions">
        <button type="button" class="primary" aria-disabled={answer === "awaited"} onClick={code === "remove.changed" ? look : code === "remove.gone" ? leave : remove}>
          {t(code === "remove.changed" ? "form.others.show" : code === "remove.gone" ? "remove.leave" : "remove.do")}
        </button>
        <button type="button" autofocus onClick={() => dialog.current!.close()}>
          {t("app.cancel")}
        </button>
      </p>
    </dialog>
  );
}

// The token of a program, which the service returns only when it is created.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { guard } from "../router";
import { t } from "../texts";
import "./texts";

/** Shows a token until it is closed with a button; nothing keeps it afterwards. */
export function NewToken(props: { token: string; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const [status, say] = useState("");
  useEffect(() => dialog.current!.showModal(), []);
  useLayoutEffect(() => guard(() => confirm(t("token.leave"))), []);
  const copy = async () => {
    field.current!.select();
    // Outside of secure contexts, such as over HTTP, pages have no clipboard.
    say(await (navigator.clipboard?.writeText(props.token) ?? Promise.reject()).then(() => t("token.copied"), () => t("token.select")));
  };
  return (
    <dialog ref={dialog} class="wide" aria-labelledby="token-title" aria-describedby="token-once" onCancel={(event) => event.preventDefault()} onClose={props.onClose}>
      <h2 id="token-title">{t("token.title")}</h2>
      <p id="token-once" class="notice">
        {t("token.once")}
      </p>
      <label>
        {t("token.token")}
        <input ref={field} class="token" readOnly value={props.token} autocomplete="off" spellcheck={false} onFocus={(event) => event.currentTarget.select()} />
      </label>
      <p class="actions">
        <button type="button" class="primary" autofocus onClick={copy}>
          {t("token.copy")}
        </button>
        <button type="button" onClick={() => dialog.current!.close()}>
          {t("token.close")}
        </button>
        <span role="status">{status}</span>
      </p>
    </dialog>
  );
}

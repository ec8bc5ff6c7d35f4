import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { signIn, signOut } from "./api";
import { explain, t, type Message } from "./texts";
import { username } from "./app";

/** The form that signs in. With a fixed name, it is for the user whose session has ended. */
function Form(props: { name?: string }) {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    const name = field("username").value;
    setBusy(true);
    setFault("");
    const answer = await signIn(name, field("password").value);
    setBusy(false);
    if (answer.status === 200) {
      username.value = name;
      return;
    }
    const messages: Message[] = answer.body?.messages ?? [];
    const wait = Number(answer.headers.get("Retry-After"));
    const why = answer.status === 400 ? t("signin.wrong") : messages.map(explain).join(" ") || t(answer.status === 0 ? "status.unreachable" : "status.other", { status: answer.status });
    setFault(wait > 0 ? `${why} ${t(wait > 90 ? "signin.minutes" : "signin.seconds", { count: wait > 90 ? Math.ceil(wait / 60) : wait })}` : why);
    field("password").select();
  };
  const field = (name: string) => form.current!.elements.namedItem(name) as HTMLInputElement;
  // Before anything can be typed, which a later focus would take elsewhere.
  useLayoutEffect(() => field(props.name ? "password" : "username").focus(), []);
  return (
    <form ref={form} onSubmit={submit} class="signin">
      <label>
        {t("signin.username")}
        <input name="username" autofocus={!props.name} autocomplete="username" autocapitalize="none" spellcheck={false} required readOnly={!!props.name} defaultValue={props.name ?? ""} />
      </label>
      <label>
        {t("signin.password")}
        <input name="password" type="password" autofocus={!!props.name} autocomplete="current-password" required aria-describedby="signin-fault" aria-invalid={fault !== ""} />
      </label>
      <p id="signin-fault" class="fault" role="alert">
        {fault}
      </p>
      <button class="primary" disabled={busy}>
        {t(busy ? "signin.busy" : "signin.submit")}
      </button>
    </form>
  );
}

/** The page for whom is not signed in. */
export function SignInPage() {
  useEffect(() => {
    document.title = t("signin.title");
  }, []);
  return (
    <main class="alone" id="content">
      <h1>{t("app.name")}</h1>
      <Form />
    </main>
  );
}

/** A dialog over the page when the session has ended: the page, and what was typed, stays. */
export function SignInAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const shown = dialog.current!;
    shown.showModal();
    return () => shown.close(); // which gives the focus back, as its removal does not
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="again" onCancel={(event) => event.preventDefault()}>
      <h2 id="again">{t("signin.ended")}</h2>
      <p>{t("signin.kept")}</p>
      <Form name={username.value} />
      <p>
        <button type="button" class="link" onClick={() => confirm(t("signin.lose")) && signOut()}>
          {t("signin.other")}
        </button>
      </p>
    </dialog>
  );
}


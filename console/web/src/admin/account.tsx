// The caller's own account: the password, and the sessions.
import { useRef, useState } from "preact/hooks";
import { api, me, signIn, signOut } from "../api";
import { Heading } from "../app";
import { failure } from "../form/saving";
import { useAnswer } from "../hooks";
import { t } from "../texts";
import { Messages } from "../values";
import "./texts";

export function AccountPage() {
  const path = `/api/v1/users/${encodeURIComponent(me.value)}`;
  const user = useAnswer<{ username: string; name?: string }>(`${path}?fields=username,name`);
  return (
    <>
      <Heading text={t("account.title")} />
      {user === null ? (
        <p class="busy">{t("status.loading")}</p>
      ) : user.status !== 200 ? (
        <Messages status={user.status} messages={(user.body as any)?.messages} />
      ) : (
        <>
          <p>{t("account.user", { username: user.body.username, name: user.body.name ?? "" })}</p>
          <Password path={path} username={user.body.username} />
          <Sessions path={path} />
        </>
      )}
    </>
  );
}

function Password(props: { path: string; username: string }) {
  const form = useRef<HTMLFormElement>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const [status, say] = useState("");
  const field = (name: string) => form.current!.elements.namedItem(name) as HTMLInputElement;
  const refuse = (name: string, text: string) => {
    setFault(text);
    field(name).focus();
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    const [currentPassword, password] = [field("current").value, field("new").value];
    setFault("");
    say("");
    if (password !== field("again").value) return refuse("again", t("account.different"));
    setBusy(true);
    const answer = await api.send("PATCH", props.path, { currentPassword, password });
    // The new password has ended this session, too.
    const signedIn = answer.status === 200 && (await signIn(props.username, password)).status === 200;
    setBusy(false);
    if (answer.status !== 200) return refuse(/current/.test(answer.body?.messages?.[0]?.code ?? "") ? "current" : "new", failure(answer));
    form.current!.reset();
    say(t(signedIn ? "account.changed" : "account.changed.signin"));
  };
  return (
    <section aria-labelledby="account-password">
      <h2 id="account-password">{t("account.password")}</h2>
      <form ref={form} class="signin narrow" onSubmit={submit}>
        <input type="hidden" name="username" autocomplete="username" value={props.username} />
        {(["current", "new", "again"] as const).map((name) => (
          <label key={name}>
            {t(`account.${name}`)}
            <input name={name} type="password" required autocomplete={name === "current" ? "current-password" : "new-password"} aria-describedby="account-fault" />
          </label>
        ))}
        <p class="hint">{t("account.ends")}</p>
        <p id="account-fault" class="fault" role="alert">
          {fault}
        </p>
        <p class="actions">
          <button class="primary" aria-disabled={busy}>
            {t("account.change")}
          </button>
          <span role="status">{status}</span>
        </p>
      </form>
    </section>
  );
}

function Sessions(props: { path: string }) {
  const [fault, setFault] = useState("");
  const end = async () => {
    if (!confirm(t("account.sessions.confirm"))) return;
    const answer = await api.send("POST", `${props.path}/logout`);
    if (answer.status !== 204) return setFault(failure(answer));
    await signOut();
  };
  return (
    <section aria-labelledby="account-sessions">
      <h2 id="account-sessions">{t("account.sessions")}</h2>
      <p>{t("account.sessions.hint")}</p>
      <button type="button" onClick={end}>
        {t("account.sessions.end")}
      </button>
      <p class="fault" role="alert">
        {fault}
      </p>
    </section>
  );
}

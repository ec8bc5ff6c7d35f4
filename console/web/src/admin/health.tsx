// What the service says about itself: whether it works, and what needs attention.
import { useEffect, useState } from "preact/hooks";
import { api, type Answer } from "../api";
import { Heading } from "../app";
import { manages, types } from "../schema";
import { t } from "../texts";
import { Messages, Text } from "../values";
import "./texts";

interface Ready {
  schemas: string;
  set?: number;
  notes?: Record<string, string>;
}

export function HealthPage() {
  const [answers, show] = useState<[Answer<Ready>, Answer<{ version: string }>] | null>(null);
  // Sent once: a service that is not ready says why, and is not waited for.
  const check = () => void Promise.all([api.send<Ready>("GET", "/readyz"), api.send<{ version: string }>("GET", "/healthz")]).then(show);
  useEffect(check, []);
  if (types.value.length > 0 && !manages()) return <Heading text={t("status.missing")} />;
  const ready = answers?.[0];
  const notes = Object.entries(ready?.body?.notes ?? {});
  return (
    <>
      <Heading text={t("health.title")} />
      {!ready ? (
        <p class="busy">{t("status.loading")}</p>
      ) : ready.status !== 200 ? (
        <>
          <p>{t("health.unready")}</p>
          <Messages status={ready.status} messages={(ready.body as any)?.messages} />
        </>
      ) : (
        <>
          <p role="status">{t(notes.length > 0 ? "health.notes" : "health.ready")}</p>
          {notes.length > 0 && (
            <dl class="notes">
              {notes.map(([name, note]) => (
                <div key={name} class="notice">
                  <dt>{t(`health.note.${name}`) === `health.note.${name}` ? <Text text={name} /> : t(`health.note.${name}`)}</dt>
                  <dd>
                    <Text text={note} />
                  </dd>
                </div>
              ))}
            </dl>
          )}
          {notes.length > 0 && <p class="hint">{t("health.private")}</p>}
          <dl>
            <dt>{t("health.version")}</dt>
            <dd>{answers[1].body?.version || "–"}</dd>
            <dt>{t("health.schemas")}</dt>
            <dd>{ready.body.set ? t("health.set", { digest: ready.body.schemas, set: ready.body.set }) : ready.body.schemas}</dd>
          </dl>
        </>
      )}
      <button type="button" onClick={check}>
        {t("health.again")}
      </button>
    </>
  );
}

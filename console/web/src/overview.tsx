// The first page of a network: what happened lately.
import { Heading } from "./app";
import { Entries } from "./history";
import { useAnswer } from "./hooks";
import { to } from "./router";
import { networks } from "./schema";
import { t } from "./texts";
import { Messages } from "./values";

export function OverviewPage(props: { network: string }) {
  const { network } = props;
  const latest = useAnswer(`/api/v1/audit?${new URLSearchParams({ context: network, pageSize: "10", count: "false" })}`);
  const notes = useAnswer(`/api/v1/notifications?${new URLSearchParams({ context: network, pageSize: "10", count: "false" })}`);
  return (
    <>
      <Heading text={networks.value.find(({ id }) => id === network)?.name || network} />
      <section aria-labelledby="lately">
        <h2 id="lately">{t("overview.lately")}</h2>
        {latest === null ? (
          <p class="busy">{t("status.loading")}</p>
        ) : latest.status !== 200 ? (
          <Messages status={latest.status} messages={latest.body?.messages} />
        ) : (
          <Entries network={network} entries={latest.body.results} />
        )}
        <p>
          <a href={to.history(network)}>{t("overview.all")}</a>
        </p>
      </section>
      {notes?.status === 200 && notes.body.results.length > 0 && (
        <section aria-labelledby="warnings">
          <h2 id="warnings">{t("overview.warnings")}</h2>
          <Entries network={network} entries={notes.body.results.map((note: any) => ({ ...note, cause: note.warning }))} />
        </section>
      )}
    </>
  );
}

// The first page of a network: what happened lately, what the caller has worked on, and what has warnings.
import { me } from "./api";
import { Heading, titleOf } from "./app";
import { Entries, objectOf, namesIn, noted, type Entry } from "./history";
import { useAnswer } from "./hooks";
import { to } from "./router";
import { networks } from "./schema";
import { brief, t } from "./texts";
import { Messages, Time } from "./values";

/** How many changes are read, and how many of them and of the caller's objects are shown. */
const [read, shown] = [100, 8];

/** The latest changes of a user, one of each object. */
function workOf(user: string, entries: Entry[]): Entry[] {
  const seen = new Set<string>();
  return entries.filter((entry) => entry.user?.id === user && !seen.has(entry.object.url) && seen.add(entry.object.url)).slice(0, shown);
}

export function OverviewPage(props: { network: string }) {
  const { network } = props;
  const latest = useAnswer(`/api/v1/audit?${new URLSearchParams({ context: network, pageSize: String(read), count: "false" })}`);
  const changes: Entry[] = latest?.status === 200 ? latest.body.results : [];
  const work = workOf(me.value, changes);
  const names = namesIn(changes);
  const notes = useAnswer(`/api/v1/notifications?${new URLSearchParams({ context: network, pageSize: String(shown), count: "false" })}`);
  return (
    <>
      <Heading text={networks.value?.find(({ id }) => id === network)?.name || network} />
      <section aria-labelledby="lately">
        <h2 id="lately">{t("overview.lately")}</h2>
        {latest === null ? (
          <p class="busy">{t("status.loading")}</p>
        ) : latest.status !== 200 ? (
          <Messages status={latest.status} messages={latest.body?.messages} />
        ) : (
          <Entries network={network} entries={changes.slice(0, shown)} names={names} />
        )}
        <p>
          <a href={to.history(network)}>{t("overview.all")}</a>
        </p>
      </section>
      {work.length > 0 && (
        <section aria-labelledby="work">
          <h2 id="work">{t("overview.work")}</h2>
          <ul>
            {work.map((entry) => (
              <li key={entry.object.url}>
                <a href={objectOf(network, entry)}>
                  {titleOf(String(entry.params?.type))} <bdi>{brief(names.get(entry.object.url) ?? entry.object.id, 60)}</bdi>
                </a>
                {", "}
                <Time value={entry.time} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {notes?.status === 200 && notes.body.results.length > 0 && (
        <section aria-labelledby="warnings">
          <h2 id="warnings">{t("overview.warnings")}</h2>
          <Entries network={network} entries={notes.body.results.map(noted)} names={names} />
        </section>
      )}
    </>
  );
}

// The warnings that have appeared on what the caller created.
import { Heading } from "../app";
import { Entries, noted } from "../history";
import { useAnswer } from "../hooks";
import { address, to } from "../router";
import { t } from "../texts";
import { Messages } from "../values";
import "./texts";

export function NotificationsPage(props: { network: string }) {
  const { network } = props;
  const cursor = address.value.searchParams.get("cursor");
  const answer = useAnswer(`/api/v1/notifications?${new URLSearchParams({ context: network, pageSize: "50", ...(cursor && { cursor }) })}`);
  return (
    <>
      <Heading text={t("notifications.title")} />
      {answer === null ? (
        <p class="busy">{t("status.loading")}</p>
      ) : answer.status !== 200 ? (
        <Messages status={answer.status} messages={answer.body?.messages} />
      ) : (
        <>
          <p>{t("notifications.hint")}</p>
          <p class="count" role="status">
            {t("notifications.count", { count: answer.body.totalCount })}
          </p>
          <Entries network={network} entries={answer.body.results.map(noted)} />
          <nav class="pages" aria-label={t("list.pages")}>
            {cursor && (
              <a class="button" href={to.notifications(network)}>
                {t("list.first")}
              </a>
            )}
            {answer.body.nextCursor && (
              <a class="button" href={`${to.notifications(network)}?${new URLSearchParams({ cursor: answer.body.nextCursor })}`}>
                {t("list.next")}
              </a>
            )}
          </nav>
        </>
      )}
    </>
  );
}

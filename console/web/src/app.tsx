// The frame around each page: the network, the types by group, who is signed in.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { api, me, schemasDigest, session, signOut, waiting } from "./api";
import { lazy } from "./lazy";
import { address, allowed, navigate, pageOf, to, type Page } from "./router";
import { loadTypes, manages, networks, types, type Named, type TypeInfo } from "./schema";
import { SignInAgain, SignInPage } from "./signin";
import { shortcutsShown, Shortcuts, toTypes, useShortcuts } from "./shortcuts";
import { brief, explain, t, visible } from "./texts";
import { Text } from "./values";
import { ListPage } from "./list";
import { OverviewPage } from "./overview";

/** The name of the user who is signed in, once it is known. */
export const username = signal("");

const HistoryPage = lazy(() => import("./history").then((m) => m.HistoryPage));
const AccessPage = lazy(() => import("./admin/access").then((m) => m.AccessPage));
const AccountPage = lazy(() => import("./admin/account").then((m) => m.AccountPage));
const NotificationsPage = lazy(() => import("./admin/notifications").then((m) => m.NotificationsPage));
const HealthPage = lazy(() => import("./admin/health").then((m) => m.HealthPage));
const TypePage = lazy(() => import("./type").then((m) => m.TypePage));
const ObjectPage = lazy(() => import("./object").then((m) => m.ObjectPage));

export function App() {
  return (
    <>
      {session.value === "starting" ? null : session.value === "none" ? <SignInPage /> : <SignedIn key={me.value} />}
      <div class="status" role="status">
        {waiting.value && `${waiting.value.messages.map(explain).join(" ") || t("status.unreachable")} ${t("status.again", { seconds: waiting.value.seconds })}`}
      </div>
      {session.value === "ended" && <SignInAgain />}
    </>
  );
}

function SignedIn() {
  const page = pageOf(address.value.pathname);
  const network = "network" in page ? page.network : "";
  useEffect(() => {
    api.get(`/api/v1/users/${encodeURIComponent(me.value)}?fields=username`).then(({ status, body }) => status === 200 && (username.value = body.username));
    api.get<{ results: Named[] }>("/api/v1/networks?fields=id,name&pageSize=1000&orderBy=name&orderByDirection=ASCENDING").then(({ status, body }) => {
      if (status === 200) networks.value = body.results;
    });
  }, []);
  const first = networks.value?.[0]?.id;
  useEffect(() => {
    if (page.kind === "home" && first) navigate(to.overview(first), { replace: true });
  }, [page.kind, first]);
  useEffect(() => {
    if (network) void loadTypes(network);
  }, [network, schemasDigest.value]);
  // Who comes back from writing the file of a type finds the type in the menu.
  useEffect(() => {
    const look = () => network && session.value === "open" && loadTypes(network);
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, [network]);
  useShortcuts(page);
  return (
    <>
      <a class="skip" href="#content">
        {t("app.skip")}
      </a>
      {network && (
        <button type="button" class="skip" onClick={toTypes}>
          {t("app.skip.types")}
        </button>
      )}
      <header>
        <a class="brand" href={network ? to.overview(network) : to.home()}>
          {t("app.name")}
        </a>
        {network && <NetworkChoice network={network} />}
        <span class="spring" />
        <button type="button" onClick={() => (shortcutsShown.value = true)}>
          {t("shortcuts.title")}
        </button>
        <a class="who" href={to.account(network)} aria-label={t("account.of", { username: username.value })} aria-current={page.kind === "account" ? "page" : undefined}>
          {username}
        </a>
        <button type="button" onClick={() => allowed() && signOut()}>
          {t("signin.out")}
        </button>
      </header>
      <div class="frame">
        {network && <Menu network={network} page={page} />}
        <main id="content" tabIndex={-1}>
          <Shown page={page} />
        </main>
      </div>
      {shortcutsShown.value && <Shortcuts />}
    </>
  );
}

function Shown(props: { page: Page }) {
  const { page } = props;
  switch (page.kind) {
    case "home":
      return (
        <>
          <Heading text={t("app.name")} />
          {networks.value?.length === 0 && <p>{t("app.nowhere")}</p>}
        </>
      );
    case "overview":
      return <OverviewPage network={page.network} />;
    case "list":
      return <ListPage key={page.type} network={page.network} type={page.type} />;
    case "history":
      return <HistoryPage network={page.network} />;
    case "access":
      return <AccessPage key={page.network} network={page.network} />;
    case "notifications":
      return <NotificationsPage network={page.network} />;
    case "health":
      return <HealthPage />;
    case "account":
      return <AccountPage />;
    case "type":
      return <TypePage key={page.type} network={page.network} type={page.type} />;
    case "new":
      return <ObjectPage key={page.type} network={page.network} type={page.type} />;
    case "object":
      return <ObjectPage key={[page.type, ...page.ids].join("\n")} network={page.network} type={page.type} ids={page.ids} />;
  }
  return <Heading text={t("status.missing")} />;
}

/** The heading of a page, which is also its title. It has the focus when the page is shown, except for the first page. */
export function Heading(props: { text: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${brief(props.text)} · ${t("app.name")}`;
  }, [props.text]);
  useLayoutEffect(() => {
    if (shownBefore) heading.current?.focus({ preventScroll: true });
    shownBefore = true;
  }, []);
  return (
    <h1 ref={heading} tabIndex={-1}>
      <Text text={props.text} />
    </h1>
  );
}

let shownBefore = false;

function NetworkChoice(props: { network: string }) {
  const known = networks.value?.some(({ id }) => id === props.network);
  return (
    <label class="network">
      <span>{t("app.network")}</span>
      <select value={props.network} onChange={(event) => navigate(to.overview(event.currentTarget.value))}>
        {!known && <option value={props.network}>{props.network}</option>}
        {networks.value?.map(({ id, name }) => (
          <option key={id} value={id}>
            {visible(name || id)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The types by their groups, and at last those without one. Those below a parent are reached from it. */
function Menu(props: { network: string; page: Page }) {
  const { network, page } = props;
  const typed = useSignal("");
  const sought = typed.value.trim().toLowerCase();
  const named = ({ type, title }: TypeInfo, is: (name: string) => boolean) => is(type) || is((title || type).toLowerCase());
  const found = types.value.filter((one) => !one.parent && named(one, (name) => name.includes(sought)));
  const best = found.find((one) => named(one, (name) => name === sought)) ?? found.find((one) => named(one, (name) => name.startsWith(sought))) ?? found[0];
  const groups = new Map<string, TypeInfo[]>();
  for (const type of found) {
    groups.set(type.group ?? "", [...(groups.get(type.group ?? "") ?? []), type]);
  }
  const open = "type" in page ? page.type : "";
  const menu = useRef<HTMLDetailsElement>(null);
  // On a small screen, the menu would be all that is seen of the page that was chosen in it.
  useLayoutEffect(() => {
    menu.current!.open = innerWidth > 720;
    typed.value = "";
  }, [address.value.pathname]);
  const key = (event: KeyboardEvent) => {
    if (event.key === "Escape") typed.value = "";
    else if (event.key === "Enter" && sought && best) navigate(to.list(network, best.type));
  };
  return (
    <nav aria-label={t("app.types")}>
      <details ref={menu}>
        <summary>{t("app.types")}</summary>
        <label>
          <span>{t("app.find")}</span>
          <input type="text" autocomplete="off" spellcheck={false} aria-keyshortcuts="t" value={typed.value} onInput={(event) => (typed.value = event.currentTarget.value)} onKeyDown={key} />
        </label>
        <p class="hint" role="status">
          {sought && (best ? t("app.found", { type: brief(best.title || best.type) }) : t("app.unfound"))}
        </p>
        <ul hidden={sought !== ""}>
          {(["overview", "history", "notifications", ...(manages() ? (["access", "health"] as const) : [])] as const).map((kind) => (
            <li key={kind}>
              <a href={to[kind](network)} aria-current={page.kind === kind ? "page" : undefined}>
                {t(`${kind}.title`)}
              </a>
            </li>
          ))}
        </ul>
        {[...groups].sort(([a], [b]) => Number(a === "") - Number(b === "")).map(([group, members]) => (
          <section key={group}>
            <h2>
              <bdi>{visible(group || t("app.others"))}</bdi>
            </h2>
            <ul>
              {members.map(({ type, title }) => (
                <li key={type}>
                  <a href={to.list(network, type)} aria-current={type === open ? (page.kind === "list" ? "page" : "true") : undefined}>
                    <bdi>{brief(title || type)}</bdi>
                  </a>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </details>
    </nav>
  );
}

/** The title of a type, or its path while it is not known. */
export const titleOf = (type: string) => brief(types.value.find((one) => one.type === type)?.title || type);

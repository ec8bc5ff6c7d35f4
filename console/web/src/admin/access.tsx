// Who may do what in a network: the permissions of its roles, and the roles and the teams of its users.
import { useState } from "preact/hooks";
import { api, me, pathOf, randomId, type Answer } from "../api";
import { Heading } from "../app";
import { failure } from "../form/saving";
import { useAnswer, useSchema } from "../hooks";
import { address, navigate, to } from "../router";
import { manages, permissions, resolved, types } from "../schema";
import { t } from "../texts";
import { Messages } from "../values";
import { Matrix, type Row } from "./matrix";
import "./texts";

interface Role {
  id: string;
  name: string;
  permissions?: string[];
  scope?: string;
  objectState?: string;
}

/** The roles of a user in a network, as the service returns and takes them. */
interface RolesOfNetwork {
  network: { id: string } | string;
  roles?: { role: { id: string } | string }[];
}

interface User {
  id: string;
  username: string;
  name?: string;
  objectState?: string;
  userRoles?: { rolesByNetwork?: RolesOfNetwork[] };
}

interface Team {
  id: string;
  name: string;
  users?: { id: string }[];
}

const usersShown = 50;

const writable = (type: string) => types.value.some((one) => one.type === type && one.writable);

const idOf = (reference: { id: string } | string) => (typeof reference === "string" ? reference : reference.id);

/** The ids of the roles that a user has in a network. */
const rolesIn = (network: string, entries: RolesOfNetwork[] | undefined): string[] =>
  (entries ?? []).filter((entry) => idOf(entry.network) === network).flatMap((entry) => (entry.roles ?? []).map(({ role }) => idOf(role)));

/** Whether the caller holds permissions, which only those who do can grant or take away. */
const holds = (those: string[]) => those.every((one) => permissions.value?.includes(one));

export function AccessPage(props: { network: string }) {
  const { network } = props;
  const [again, read] = useState(0);
  const query = address.value.searchParams;
  const [q, cursor] = [query.get("q") ?? "", query.get("cursor") ?? ""];
  const schema = useSchema(network, "roles");
  const roles = useAnswer<{ results: Role[]; nextCursor?: string }>(pathOf("roles", network, undefined, { pageSize: "1000", fields: "id,name,permissions,scope,objectState", orderBy: "name", orderByDirection: "ASCENDING" }), again);
  const users = useAnswer<{ results: User[]; nextCursor?: string; totalCount: number }>(
    pathOf("users", network, undefined, { pageSize: String(usersShown), fields: "id,username,name,userRoles,objectState", orderBy: "username", orderByDirection: "ASCENDING", ...(q && { q }), ...(cursor && { cursor }) }),
    again,
  );
  const teams = useAnswer<{ results: Team[]; nextCursor?: string }>(pathOf("teams", network, undefined, { pageSize: "100", fields: "id,name,users", orderBy: "name", orderByDirection: "ASCENDING" }), again);
  if (types.value.length > 0 && !manages()) return <Heading text={t("status.missing")} />;
  const failed = [schema, roles, users].find((answer) => answer && answer.status !== 200);
  return (
    <>
      <Heading text={t("access.title")} />
      {failed ? (
        <Messages status={failed.status} messages={(failed.body as any)?.messages} />
      ) : !schema || !roles || !users ? (
        <p class="busy">{t("status.loading")}</p>
      ) : (
        <>
          <p>{t("access.hint")}</p>
          <Roles network={network} roles={roles.body.results} more={!!roles.body.nextCursor} all={permissionsOf(schema.body)} onSaved={() => read(again + 1)} />
          <div id="users">
            <h2>{t("access.users")}</h2>
            <form
              class="tools"
              role="search"
              onSubmit={(event) => {
                event.preventDefault();
                const text = (event.currentTarget.elements.namedItem("q") as HTMLInputElement).value.trim();
                navigate(to.access(network) + (text && `?${new URLSearchParams({ q: text })}`));
              }}
            >
              <label>
                <span>{t("access.find")}</span>
                <input type="search" name="q" defaultValue={q} key={q} />
              </label>
              <button>{t("list.find")}</button>
              {writable("users") && (
                <a class="button" href={to.create(network, "users")}>
                  {t("access.user.new")}
                </a>
              )}
            </form>
            <Users key={`${q}\n${cursor}`} network={network} users={users.body.results} roles={roles.body.results} onSaved={() => read(again + 1)} />
            <nav class="pages" aria-label={t("list.pages")}>
              {cursor && (
                <a class="button" href={to.access(network) + (q && `?${new URLSearchParams({ q })}`)}>
                  {t("list.first")}
                </a>
              )}
              {users.body.nextCursor && (
                <a class="button" href={`${to.access(network)}?${new URLSearchParams({ ...(q && { q }), cursor: users.body.nextCursor })}`}>
                  {t("list.next")}
                </a>
              )}
            </nav>
          </div>
          {teams?.status === 200 && <Teams key={`${q}\n${cursor}`} network={network} users={users.body.results} teams={teams.body.results} more={!!teams.body.nextCursor} onSaved={() => read(again + 1)} />}
        </>
      )}
    </>
  );
}

/** The permissions that roles can have. */
function permissionsOf(schema: Record<string, any>): string[] {
  const items = resolved(schema, resolved(schema, schema.properties?.permissions).items);
  return items.enum ?? [];
}

function Roles(props: { network: string; roles: Role[]; more: boolean; all: string[]; onSaved: () => void }) {
  const { network, roles, all } = props;
  const rows: Row[] = roles.map((role) => ({
    id: role.id,
    name: role.name,
    url: to.object(network, "roles", role.id),
    note: [t(`access.scope.${role.scope ?? "TEAM"}`), ...(role.objectState && role.objectState !== "ACTIVE" ? [t("access.inactive")] : [])].join(", "),
    on: role.permissions ?? [],
    fixed: !writable("roles") || !holds(role.permissions ?? []),
  }));
  const save = (row: Row, on: string[]) =>
    saved(pathOf("roles", network, row.id), row.on, (body) => body.permissions ?? [], () => ({ permissions: on }));
  return (
    <div id="roles">
      <h2>{t("access.roles")}</h2>
      <Matrix label={t("access.roles")} corner={t("access.role")} rows={rows} columns={all.map((id) => ({ id, name: id, fixed: !holds([id]) }))} cell={(row, column) => t("access.grants", { role: row, permission: column })} save={save} onSaved={props.onSaved} />
      {props.more && <p class="hint">{t("access.more.roles")}</p>}
      {writable("roles") && (
        <p>
          <a class="button" href={to.create(network, "roles")}>
            {t("access.role.new")}
          </a>
        </p>
      )}
    </div>
  );
}

function Users(props: { network: string; users: User[]; roles: Role[]; onSaved: () => void }) {
  const { network, users, roles } = props;
  const rows: Row[] = users.map((user) => ({
    id: user.id,
    name: user.username,
    url: to.object(network, "users", user.id),
    note: [user.name !== user.username && user.name, user.objectState && user.objectState !== "ACTIVE" && t("access.inactive")].filter(Boolean).join(", "),
    on: rolesIn(network, user.userRoles?.rolesByNetwork),
    fixed: !writable("users"),
  }));
  const save = (row: Row, on: string[]) =>
    saved(
      `/api/v1/users/${encodeURIComponent(row.id)}`,
      row.on,
      (body) => rolesIn(network, body.userRoles?.rolesByNetwork),
      (body) => {
        // The others are sent back as they are: an entry that is left out would be removed.
        const others = ((body.userRoles?.rolesByNetwork ?? []) as RolesOfNetwork[]).filter((entry) => idOf(entry.network) !== network);
        const sent = others.map((entry) => ({ network: idOf(entry.network), roles: (entry.roles ?? []).map(({ role }) => ({ role: idOf(role) })) }));
        return { userRoles: { rolesByNetwork: [...sent, ...(on.length > 0 ? [{ network, roles: on.map((role) => ({ role })) }] : [])] } };
      },
    );
  // What the service refuses besides is about roles in networks that the caller does not manage, which are not shown.
  const mayEnd = (row: Row) => !row.fixed && row.id !== me.value && row.on.every((id) => holds(roles.find((role) => role.id === id)?.permissions ?? []));
  const end = async (row: Row, report: (said: string, fault: string) => void) => {
    if (!confirm(t("access.sessions.confirm", { user: row.name }))) return;
    const answer = await api.send("POST", `/api/v1/users/${encodeURIComponent(row.id)}/logout`);
    if (answer.status === 204) report(t("access.sessions.ended", { user: row.name }), "");
    else report("", failure(answer));
  };
  const sessions = {
    title: t("account.sessions"),
    cell: (row: Row, report: (said: string, fault: string) => void) =>
      mayEnd(row) && (
        <button type="button" aria-label={t("access.sessions.label", { user: row.name })} onClick={() => end(row, report)}>
          {t("access.sessions.end")}
        </button>
      ),
  };
  if (users.length === 0) return <p>{t("list.none")}</p>;
  return <Matrix label={t("access.users")} corner={t("access.user")} rows={rows} columns={roles.map((role) => ({ id: role.id, name: role.name, fixed: !holds(role.permissions ?? []) }))} cell={(row, column) => t("access.holds", { user: row, role: column })} save={save} onSaved={props.onSaved} last={rows.some(mayEnd) ? sessions : undefined} />;
}

/**
 * Changes an object on the condition that what was shown of it has not changed since. Returns why that
 * has failed, or "".
 */
async function saved(path: string, shown: string[], of: (body: any) => string[], change: (body: any) => unknown): Promise<string> {
  const now = await api.get(path);
  if (now.status !== 200) return failure(now);
  const before = of(now.body);
  if (before.length !== shown.length || before.some((one) => !shown.includes(one))) return t("access.meanwhile");
  const answer: Answer = await api.send("PATCH", path, change(now.body), { "If-Match": now.headers.get("ETag") ?? "", "Idempotency-Key": randomId() });
  return answer.status === 200 ? "" : answer.status === 412 ? t("access.meanwhile") : failure(answer);
}

function Teams(props: { network: string; users: User[]; teams: Team[]; more: boolean; onSaved: () => void }) {
  const { network, users, teams } = props;
  const members = (team: Team) => (team.users ?? []).map(idOf);
  const rows: Row[] = users.map((user) => ({
    id: user.id,
    name: user.username,
    url: to.object(network, "users", user.id),
    note: "",
    on: teams.filter((team) => members(team).includes(user.id)).map(({ id }) => id),
    fixed: !writable("teams"),
  }));
  const save = async (row: Row, on: string[]) => {
    const only = (ids: string[]) => ids.filter((id) => id === row.id);
    const faults: string[] = [];
    for (const team of teams.filter(({ id }) => on.includes(id) !== row.on.includes(id))) {
      // Of the others, some may have been saved a moment ago.
      const fault = await saved(pathOf("teams", network, team.id), only(members(team)), (body) => only(members(body)), (body) => ({ users: [...members(body).filter((id) => id !== row.id), ...(on.includes(team.id) ? [row.id] : [])] }));
      if (fault) faults.push(`${team.name}: ${fault}`);
    }
    return faults.join(" ");
  };
  return (
    <div id="teams">
      <h2>{t("access.teams")}</h2>
      <p class="hint">{t("access.team.hint")}</p>
      {teams.length === 0 || users.length === 0 ? (
        <p>{t("list.none")}</p>
      ) : (
        <Matrix label={t("access.teams")} corner={t("access.user")} rows={rows} columns={teams.map(({ id, name }) => ({ id, name, fixed: false }))} cell={(row, column) => t("access.member", { user: row, team: column })} save={save} onSaved={props.onSaved} />
      )}
      {props.more && <p class="hint">{t("access.more.teams")}</p>}
      {writable("teams") && (
        <p>
          <a class="button" href={to.list(network, "teams")}>
            {t("access.team.all")}
          </a>
        </p>
      )}
    </div>
  );
}

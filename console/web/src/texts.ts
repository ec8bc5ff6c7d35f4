// The catalogue of texts, in English, and the service's messages by their codes.

export type Params = Record<string, unknown>;

/** A message of the service. */
export interface Message {
  type?: string;
  code: string;
  text: string;
  params?: Params;
}

/** A text, or one for each kind of number that its parameter count can be. */
export type Wording = string | ({ other: string } & Partial<Record<Intl.LDMLPluralRule, string>>);

const texts: Record<string, Wording> = {
  "app.name": "Marquee",
  "app.nowhere": "You have no role in any network. Ask somebody who manages one.",
  "app.find": "Find a type",
  "app.found": "Enter opens {{type}}.",
  "app.unfound": "No type has this name.",
  "app.skip": "Skip to the content",
  "app.skip.types": "Skip to the types",
  "app.network": "Network",
  "app.types": "Types",
  "app.others": "Other types",
  "app.close": "Close",
  "app.cancel": "Cancel",

  "signin.title": "Sign in · Marquee",
  "signin.username": "Username",
  "signin.password": "Password",
  "signin.submit": "Sign in",
  "signin.busy": "Signing in…",
  "signin.out": "Sign out",
  "signin.wrong": "The username or the password is wrong.",
  "signin.seconds": "Try again in {{count}} s.",
  "signin.minutes": "Try again in {{count}} minutes.",
  "signin.ended": "Your session has ended",
  "signin.kept": "Sign in again to continue. The page keeps what you have entered.",
  "signin.other": "Sign out and leave this page",
  "signin.lose": "What you have entered and not saved will be lost. Sign out?",

  "status.loading": "Loading…",
  "status.unreachable": "The server cannot be reached.",
  "status.again": "Trying again in {{seconds}} s.",
  "status.missing": "There is no such page, or you may not see it.",
  "status.other": "The request failed with the status {{status}}.",

  "field.id": "Id",
  "field.state": "State of the object",
  "field.created": "Created",
  "field.updated": "Changed",
  "field.creator": "Created by",
  "field.updater": "Changed by",
  "field.warnings": "Warnings",

  "value.yes": "Yes",
  "value.no": "No",
  "value.more": { one: "Show {{count}} more character", other: "Show {{count}} more characters" },
  "value.others": "and {{count}} more",

  "list.new": "New",
  "list.search": "Search",
  "list.find": "Find",
  "list.searched": "Words, or beginnings of words, in {{properties}}",
  "list.clear": "Show all",
  "list.none": "No objects.",
  "list.count": "{{from}} to {{to}} of {{total}}",
  "list.reload": "Reload",
  "list.removed": "{{name}} has been removed.",
  "list.stale": "Objects have changed since.",
  "list.truncated": "This page is shorter than others because its objects are large. The next page continues after the last of them.",
  "list.table": "Objects",
  "list.pages": "Pages",
  "list.first": "First page",
  "list.previous": "Previous page",
  "list.next": "Next page",
  "list.warnings": { one: "{{count}} warning", other: "{{count}} warnings" },
  "list.parent": "Open the {{type}}",
  "list.import": "Import",
  "list.export": "Export",

  "remove.open": "Remove…",
  "remove.title": "Remove {{name}}?",
  "remove.hint": "The object cannot be brought back. Its history stays.",
  "remove.do": "Remove",
  "remove.lost": "There was no answer, so that it is not known whether the object has been removed. Remove it again to find out.",
  "remove.gone": "The object has been removed already, or you may not see it any more.",
  "remove.changed": "Somebody has changed this object since you opened it. Nothing was removed.",
  "remove.leave": "Go to the list",
  "error.object.referenced": "Other objects refer to this one, so that it cannot be removed. Those that you see can be found at the end of its page.",

  "selection.some": { one: "{{count}} object is selected", other: "{{count}} objects are selected" },
  "selection.all": "All {{count}} objects that match are selected",
  "selection.every": "Select all {{count}} that match",
  "selection.change": "Change them",
  "selection.clear": "Select nothing",
  "selection.page": "Select the rows of this page",
  "selection.row": "Select {{name}}",

  "filter.title": "Filter",
  "filter.titled": "Filter ({{count}})",
  "filter.show": "Show",
  "filter.includeActive": "Active objects",
  "filter.includeInactive": "Inactive objects",
  "filter.includeHidden": "Hidden objects",
  "filter.excludeInvalid": "Only those without warnings",
  "filter.onlyMine": "Only those that I created",
  "filter.where": "Conditions, separated by semicolons, as in the API",
  "filter.add": "Add a condition",
  "filter.apply": "Apply",
  "filter.text": "Edit as text",
  "filter.form": "Edit as a form",
  "filter.property": "Property",
  "filter.operator": "Comparison of {{property}}",
  "filter.value": "Value of {{property}}",
  "filter.remove": "Remove the condition on {{property}}",
  "filter.time": "2026-11-01 or 3 days ago",
  "operator.=": "is",
  "operator.!=": "is not",
  "operator.>": "greater than",
  "operator.>=": "at least",
  "operator.<": "less than",
  "operator.<=": "at most",
  "operator.in": "is one of",
  "operator.not in": "is none of",
  "operator.is null": "is not set",
  "operator.is not null": "is set",

  "columns.title": "Columns",
  "columns.add": "Add a column",
  "columns.usual": "Show the usual columns",
  "columns.earlier": "Move {{column}} to the left",
  "columns.later": "Move {{column}} to the right",
  "columns.remove": "Remove {{column}}",

  "views.title": "Views",
  "views.name": "Name of this view",
  "views.keep": "Keep",
  "views.remove": "Remove the view {{name}}",
  "views.hint": "Your views are kept in this browser. To send one to somebody, send the address of the page.",

  "history.title": "History",
  "history.network": "History of the network",
  "history.type": "History: {{type}}",
  "history.object": "History of {{type}} {{id}}",
  "history.open": "Open the object",
  "history.count": { one: "{{count}} change", other: "{{count}} changes" },
  "history.newest": "Newest changes",
  "history.older": "Older changes",
  "history.audit.object.created": "was created.",
  "history.audit.object.updated": "was changed.",
  "history.audit.object.removed": "was removed.",
  "history.notification.warning.appeared": "has a new warning: {{warning}}",
  "history.version": "version {{version}}",
  "history.fields": { one: "{{count}} field", other: "{{count}} fields" },
  "history.more": { one: "{{count}} more field", other: "{{count}} more fields" },
  "history.what": "Field",
  "history.from": "Before",
  "history.to": "After",

  "putback.title": "Put back what version {{version}} changed",
  "putback.open": "Put back",
  "putback.now": "Now",
  "putback.then": "Will be",
  "putback.do": "Put back as a new change",
  "putback.done": "The change has been put back.",
  "putback.secret": "A secret or erased value, which the history does not have",
  "putback.removed": "The type no longer has this field",
  "putback.fixed": "Cannot be written",
  "putback.list": "Part of a list, which cannot be put back alone",

  "overview.title": "Overview",
  "overview.work": "What you have worked on",
  "overview.lately": "Latest changes",
  "overview.all": "The whole history",
  "overview.warnings": "Warnings about what you created",

  "access.title": "Who may do what",
  "account.title": "Your account",
  "account.of": "Your account, {{username}}",
  "health.title": "State of the service",
  "notifications.title": "Notifications",

  "type.title": "About the type {{type}}",
  "type.about": "About this type",
  "type.list": "Objects",
  "type.api": "API documentation",
  "type.count": { one: "{{count}} object that you can see", other: "{{count}} objects that you can see" },
  "type.writable": "You can create and change objects of this type.",
  "type.readonly": "You cannot change objects of this type.",
  "type.permission.read": "Reading takes the permission {{permission}}.",
  "type.permission.write": "Writing takes the permission {{permission}}.",
  "type.permission.create": "Creating takes the permission {{permission}}.",
  "type.global": "Objects belong to no network.",
  "type.parent": "Each object belongs to the object in {{parent}}.",
  "type.search": "The search looks in {{properties}}.",
  "type.unique": "No two objects have the same {{properties}}.",
  "type.public": "Anybody can read public objects, without signing in.",
  "type.exclusive": "No two objects with the same {{properties}} have times or numbers between {{from}} and {{to}} in common.",
  "type.compare": "{{left}} {{op}} {{right}}",
  "type.warnings": "Warnings",
  "type.rules": "Rules",
  "type.properties": "Properties",
  "type.property": "Property",
  "type.kind": "Value",
  "type.description": "Description",
  "type.required": "required",
  "type.conditional": "under a condition",
  "type.field": "A property",
  "type.sequence": "The service gives a number, from {{start}}.",
  "type.sequence.format": "Written as {{format}}",
  "type.transition": "{{from}} can become: {{to}}",
  "type.transition.none": "nothing else",
  "type.step.permission": "(with the permission {{permission}})",
  "type.step.rule": "(if {{rule}})",
  "type.was": "{{was}} is now {{now}}.",
  "type.needs": "{{name}} needs {{needed}}.",
  "type.enum": "One of: {{values}}",
  "type.readOnly": "The service sets it.",
  "type.secret": "The service never shows it.",
  "type.uniqueItems": "No entry twice",
  "type.personal": "About a person: an erasure removes it.",
  "type.derived": "The service computes it.",
  "type.immutable": "It cannot change once it is set.",
  "type.complete": "It is returned with every member, set or not.",
  "type.unknown": "A write with members that it does not have is refused.",
  "type.referred": "Referred to by",
  "type.find": "Find the types that refer to this one",
  "type.find.object": "Find what refers to this object",
  "type.unreferred": "No type that you can see refers to this one.",
  "type.unreferred.object": "Nothing that you can see refers to this object.",
  "kind.text": "Text",
  "kind.number": "Number",
  "kind.boolean": "Yes or no",
  "kind.enum": "Choice",
  "kind.time": "Time",
  "kind.reference": "Reference to",
  "kind.references": "References to",
  "kind.list": "List",
  "kind.object": "Object",

  "module.failed": "This part of the page cannot be shown: {{reason}}",

  "shortcuts.title": "Keyboard shortcuts",
  "shortcuts.enabled": "Use single keys as shortcuts",
  "shortcuts.?": "Show this list",
  "shortcuts.t": "Find a type by its name",
  "shortcuts./": "Go to the search",
  "shortcuts.n": "Create an object",
  "shortcuts.l": "Go to the list of the type",
  "shortcuts.h": "Go to the history",
  "shortcuts.o": "Go to the overview",
  "shortcuts.j": "Go to the next row",
  "shortcuts.k": "Go to the previous row",
  "shortcuts.Enter": "Open the row",
  "shortcuts.Ctrl+Enter": "Save the form",
};

/** Adds texts to the catalogue, such as those of a form or of the module of an application. */
export function add(more: Record<string, Wording> | undefined): void {
  Object.assign(texts, more);
}

/** The text with a code, with its parameters filled in, of which count is a number. A code that is not in the catalogue is shown as it is. */
export function t(code: string, params: Params = {}): string {
  return fill(texts[code] ?? code, params);
}

/** The text of a message of the service: that of the catalogue, if it has one for the code, or the message's own. */
export function explain(message: Message): string {
  return fill(texts[message.code] ?? message.text, message.params ?? {});
}

const plurals = new Intl.PluralRules("en");

function fill(wording: Wording, params: Params): string {
  const { count } = params;
  // A module can have texts of any kind.
  const text = String(typeof wording === "object" ? (wording[plurals.select(Number(count))] ?? wording.other) : wording);
  const all = typeof count === "number" ? { ...params, count: count.toLocaleString() } : params;
  return visible(text.replace(/\{\{(\w+)\}\}/g, (written, name: string) => (name in all ? shown(all[name]) : written)));
}

/** A text whose invisible controls, which could change how its neighbours are read, are visible. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** The beginning of a name, where no more of it can be shown, such as in a link. */
export const brief = (name: string, most = 200) => visible(name.length > most ? name.slice(0, most) + "…" : name);

const shown = (value: unknown) => (typeof value === "string" ? value : Array.isArray(value) && value.every((v) => typeof v !== "object") ? value.join(", ") : JSON.stringify(value));

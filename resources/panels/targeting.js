// The targeting of an object as a sentence.
import { element } from "./element.js";

/** @typedef {{text: string, params?: Record<string, unknown>}} Said A text of the catalogue. */
/** @typedef {string | Said | {type: string, id: string, name?: string, url?: string}} Part */
/** @typedef {(Part | Part[])[]} Words */

/** @type {import("../../console/web/src/module").Panel["show"]} */
export function reach(root, place, console) {
  const { object, network } = place;
  const paragraph = element("p", { className: "sentence" });
  for (const part of [...dates(object), ...sentence(object.targeting)].flat(2)) {
    if (typeof part === "string") paragraph.append(element("bdi", {}, console.visible(part)));
    else if ("text" in part) paragraph.append(element("bdi", {}, console.t(part.text, part.params)));
    else paragraph.append(part.url ? element("a", { href: console.objectAddress(network, part.type, part.id), dir: "auto" }, console.visible(part.name || part.id)) : element("bdi", {}, console.visible(part.name || part.id)));
  }
  root.append(paragraph);
}

/**
 * @param {string} text
 * @param {Record<string, unknown>} [params]
 * @returns {Said}
 */
const say = (text, params) => ({ text: `targeting.${text}`, params });

/**
 * When a line item runs.
 * @param {any} object
 * @returns {Words}
 */
function dates({ startDate, endDate }) {
  if (!startDate && !endDate) return [];
  return [say(!endDate ? "runs.from" : startDate ? "runs" : "runs.to", { start: startDate && time(startDate), end: endDate && time(endDate) }), " "];
}

/** The order of the sentence: where, to whom, and when. Others follow. */
const order = [
  ...["publisherTarget", "siteTarget", "siteGroupTarget", "adUnitTarget", "adUnitMatchingLabelTargets", "siteCountryTarget", "domainNameTarget", "articleTarget"],
  ...["categoryTargets", "keywordTargets", "keyValueTargets", "viewabilityTarget", "namedLocationTarget", "geospatialTargets", "ipAddressTarget", "deviceTargets"],
  ...["userSegmentTargets", "thirdPartyAudienceTargets", "retargetingTargets", "dayPartingTargets", "dateTarget"],
];

/**
 * Says what targeting limits the delivery to. All of its parts must match.
 * @param {Record<string, any> | undefined} targeting
 * @returns {Words}
 */
export function sentence(targeting) {
  const keys = new Set([...order, ...Object.keys(targeting ?? {})]);
  const parts = [...keys].map((key) => said(key, targeting?.[key])).filter((words) => words.length > 0);
  if (parts.length === 0) return [say("everything")];
  return [say("shown"), " ", ...joined(parts, "; ", say("last")), "."];
}

/** How long a list of alternatives may be in the sentence. */
const most = 12;

/**
 * Joins parts of a sentence.
 * @param {Words[]} list
 * @param {Part} between
 * @param {Part} last
 * @returns {Words}
 */
function joined(list, between, last) {
  const shown = list.length > most + 1 ? [...list.slice(0, most), [say("more", { count: list.length - most })]] : list;
  return shown.flatMap((words, i) => [...(i === 0 ? [] : [i === shown.length - 1 ? last : between]), ...words]);
}

const any = (/** @type {Words[]} */ list) => joined(list, ", ", say("or"));
const all = (/** @type {Words[]} */ list) => joined(list, ", ", say("and"));
/** A list of texts or references as words. */
const words = (/** @type {any[] | undefined} */ list, /** @type {string} */ type = "") => (list ?? []).map((one) => [typeof one === "object" && one ? { id: one.id, name: one.name, url: one.url, type } : String(one)]);

/**
 * The targets that name objects or texts of which one must match, or with negated none: the member
 * that has their list.
 * @type {Record<string, {list: string, type?: string, show?: (one: any) => string}>}
 */
const named = {
  publisherTarget: { list: "earningsAccounts", type: "earningsaccounts" },
  siteTarget: { list: "sites", type: "sites" },
  adUnitTarget: { list: "adUnits", type: "adunits" },
  siteGroupTarget: { list: "siteGroups", type: "sitegroups" },
  siteCountryTarget: { list: "countries", show: country },
  namedLocationTarget: { list: "locations", show: (one) => (one.context ? `${one.name ?? one.id} (${one.context})` : String(one.name ?? one.id)) },
  articleTarget: { list: "urls" },
  domainNameTarget: { list: "names" },
  ipAddressTarget: { list: "addresses" },
};

/**
 * The lists of entries of which one must match: what an entry must have, and must not have, and how
 * its members belong together.
 * @type {Record<string, {has: string, hasNot?: string, type?: string}>}
 */
const entries = {
  adUnitMatchingLabelTargets: { has: "matchingLabels" },
  thirdPartyAudienceTargets: { has: "thirdPartyAudiences", hasNot: "notThirdPartyAudienceIds" },
  userSegmentTargets: { has: "userSegments", hasNot: "notUserSegments", type: "segments" },
  categoryTargets: { has: "categories", hasNot: "notCategories" },
  keywordTargets: { has: "keywords", hasNot: "notKeywords" },
};

/**
 * Says one part of the targeting, nothing if it is not set.
 * @param {string} key
 * @param {any} value
 * @returns {Words}
 */
function said(key, value) {
  if (empty(value)) return [];
  const target = named[key];
  if (target) {
    const list = value[target.list] ?? [];
    if (list.length === 0) return [];
    const shown = target.show ? list.map((/** @type {any} */ one) => [target.show?.(one)]) : words(list, target.type);
    return [...(value.negated ? [say("not"), " "] : []), say(key, { count: list.length }), " ", ...any(shown)];
  }
  const listed = entries[key];
  if (listed) {
    return alternatives(value, (entry) => {
      const has = words(entry[listed.has], listed.type);
      const hasNot = words(listed.hasNot && entry[listed.hasNot], listed.type);
      return [
        ...(has.length ? [[say(key, { count: has.length }), " ", ...all(has)]] : []),
        ...(hasNot.length ? [[say(`${key}.not`, { count: hasNot.length }), " ", ...any(hasNot)]] : []),
      ];
    });
  }
  const other = others[key];
  return other ? other(value) : [say("other", { name: key })]; // a later version may have more
}

/**
 * Joins the entries of a list, one of which must match, and within each its conditions, all of
 * which must.
 * @param {any[]} list
 * @param {(entry: any) => Words[]} conditions
 * @returns {Words}
 */
function alternatives(list, conditions) {
  const found = list.map(conditions).filter((one) => one.length > 0);
  return any(found.map((one) => (found.length > 1 && one.length > 1 ? ["(", ...all(one), ")"] : all(one))));
}

/**
 * The targets with a form of their own.
 * @type {Record<string, (value: any) => Words>}
 */
const others = {
  geospatialTargets: (list) => [say("geospatialTargets", { count: list.length })],
  deviceTargets: (list) =>
    alternatives(list, (entry) => [
      ...(entry.targetedDeviceTypes?.length ? [[say("deviceTargets.types"), " ", ...any(entry.targetedDeviceTypes.map(plain))]] : []),
      ...(entry.targetedBrands?.length ? [[say("deviceTargets.brands"), " ", ...any(entry.targetedBrands.map(plain))]] : []),
      ...(entry.targetedOSes?.length ? [[say("deviceTargets.systems"), " ", ...any(entry.targetedOSes.map(plain))]] : []),
    ]),
  keyValueTargets: (list) => keyValues(list, "keyValueTargets"),
  retargetingTargets: (list) => keyValues(list, "retargetingTargets"),
  viewabilityTarget: ({ viewability }) => (viewability === null || viewability === undefined ? [] : [say("viewabilityTarget", { viewability })]),
  dayPartingTargets: (list) =>
    alternatives(list, (entry) => [
      ...(entry.daysOfWeek?.length ? [[say("days"), " ", ...any(runs(days, entry.daysOfWeek).map(([from, to]) => [from === to ? plain1(days[from]) : say("range", { from: plain1(days[from]), to: plain1(days[to]) })]))]] : []),
      ...(entry.hoursOfDay?.length ? [[say("hours"), " ", ...any(runs(hours, entry.hoursOfDay).map(([from, to]) => [say("range", { from: hour(from), to: hour(to + 1) })]))]] : []),
    ].map((one, i, { length }) => (i === length - 1 ? [...one, " ", clock(entry)] : one))),
  dateTarget: (value) =>
    value.dateRanges?.length
      ? [...any(value.dateRanges.map((/** @type {any} */ range) => [say("dates", { first: time(range.first), second: time(range.second) })])), " ", clock(value)]
      : [],
};

/**
 * @param {any[]} list
 * @param {string} text
 */
const keyValues = (list, text) =>
  alternatives(list, (entry) => [
    ...Object.entries(entry.entries ?? {}).map(([key, values]) => [say(text, { key }), " ", ...any(words(values))]),
    ...Object.entries(entry.notEntries ?? {}).map(([key, values]) => [say(`${text}.not`, { key }), " ", ...any(words(values))]),
  ]);

const days = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];
const hours = Array.from({ length: 24 }, (_, i) => i);
const hour = (/** @type {number} */ n) => `${String(n).padStart(2, "0")}:00`;
const clock = (/** @type {any} */ value) => say(value.timeZoneSetting === "SYSTEM" ? "clock.SYSTEM" : "clock.USER");

/** Values with names of their own. */
const spelt = new Map([["IOS", "iOS"], ["HTC", "HTC"], ["LG", "LG"], ["RIM", "RIM"], ["ZTE", "ZTE"], ["NEC", "NEC"], ["BSD", "BSD"], ["SUNOS", "SunOS"], ["MACINTOSH", "macOS"], ["BLACKBERRY", "BlackBerry"]]);

/** SONY_ERICSSON is "Sony Ericsson". */
const plain1 = (/** @type {string} */ value) => spelt.get(value) ?? value.toLowerCase().replace(/(^|_)([a-z])/g, (_, gap, letter) => (gap ? " " : "") + letter.toUpperCase());
const plain = (/** @type {string} */ value) => [plain1(value)];

/**
 * The runs of neighbours of an order that are in a list, as the places where they begin and end.
 * @param {unknown[]} order
 * @param {unknown[]} list
 * @returns {[number, number][]}
 */
function runs(order, list) {
  /** @type {[number, number][]} */
  const found = [];
  order.forEach((one, i) => {
    if (!list.includes(one)) return;
    const last = found.at(-1);
    if (last && last[1] === i - 1) last[1] = i;
    else found.push([i, i]);
  });
  return found;
}

/**
 * @param {any} value
 * @returns {boolean}
 */
function empty(value) {
  return value === null || value === undefined || (typeof value === "object" && Object.entries(value).every(([key, one]) => one === false || (key === "timeZoneSetting" && typeof one === "string") || empty(one)));
}

/** @param {string} code */
function country(code) {
  try {
    return new Intl.DisplayNames(undefined, { type: "region" }).of(code) ?? code;
  } catch {
    return code;
  }
}

/** @param {string} value */
function time(value) {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return value;
  // Without a zone, it is the time of whose clock the sentence says.
  return date.toLocaleString(undefined, { dateStyle: "medium", ...(date.getHours() + date.getMinutes() > 0 && { timeStyle: "short" }) });
}

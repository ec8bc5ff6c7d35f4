// The module that the application brings: parts of the page of an object, in plain DOM.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, pathOf } from "./api";
import { guard, to } from "./router";
import { add, explain, t, visible, type Params, type Wording } from "./texts";
import { Messages } from "./values";
import { render } from "preact";

/** The object whose page is shown, as the service has returned it. */
export interface Place {
  network: string;
  type: string;
  id: string;
  object: Record<string, any>;
}

/** What the console does for a module. */
export interface Console {
  /** Requests with the token of the session, which the module never sees. */
  api: Pick<typeof api, "get" | "send" | "upload">;
  /** The path of a type in the API, or of one of its objects, with parameters. An object below another one has two ids. */
  pathOf: typeof pathOf;
  /** The address of the page of an object. */
  objectAddress(network: string, type: string, ...ids: string[]): string;
  /** One of the texts of the module, with its parameters filled in. */
  t(name: string, params?: Params): string;
  /** A text whose invisible controls are visible. */
  visible(text: string): string;
  /** Shows the messages of an answer, or why there was none, in an element. */
  showFaults(element: HTMLElement, answer: { status: number; body?: any }): void;
  /** Asks a question before the page is left, until the function that it returns is called. */
  guard(question: string): () => void;
  /** Puts the messages of an answer into one text. */
  explain(answer: { status: number; body?: any }): string;
}

/** A part of the page of an object, with a heading that opens it. */
export interface Panel {
  /** The name of its heading among the texts, or the heading itself. */
  title: string;
  /** The paths of the types whose objects have it. */
  types: string[];
  /** Whether it is open at first. */
  open?: boolean;
  /** Whether it stays as it is when the object has been saved. Otherwise, it is shown again. */
  lasts?: boolean;
  /** Fills an element when it is first opened, and returns what is to be done when the page is left, or it is shown again. */
  show(element: HTMLElement, place: Place, console: Console): void | (() => void);
}

/** Something in a list that x-lookup names, with what tells it from others of the same name. */
export interface Looked {
  id: number;
  name: string;
  about?: string;
}

/** What module.js exports. */
export interface Module {
  panels: Panel[];
  /** Texts by their names, which become part of the catalogue of the console. */
  texts?: Record<string, Wording>;
  /** Searches of the lists that x-lookup names, which throw an Error to say why there is no answer. */
  lookups?: Record<string, (text: string, console: Console) => Promise<Looked[]>>;
}

const services: Console = {
  api,
  pathOf,
  objectAddress: to.object,
  t,
  visible,
  guard: (question) => guard(() => confirm(question)),
  showFaults: (element, { status, body }) => render(<Messages status={status} messages={body?.messages} />, element),
  explain: ({ status, body }) => (body?.messages ?? []).map(explain).join(" ") || t(status === 0 ? "status.unreachable" : "status.other", { status }),
};

let loading: Promise<Module> | null = null;

/** Loads the module once, if the application has one. */
export function load(): Promise<Module> {
  const address = document.getElementById("console")!.dataset.module;
  return (loading ??= address ? import(address).then((module) => (add(module.texts), module)).catch((cause) => ((loading = null), Promise.reject(cause))) : Promise.resolve({ panels: [] }));
}

/** Searches a list, which finds nothing if the application does not have it. */
export const lookup = async (list: string, text: string): Promise<Looked[]> => (await load()).lookups?.[list]?.(text, services) ?? [];

/** The parts that the application adds to the page of an object, of which each save makes another version. */
export function Panels(props: { place: Place; version: string }) {
  const [panels, show] = useState<Panel[]>([]);
  const [fault, fail] = useState("");
  useEffect(() => {
    let wanted = true;
    load()
      .then((module) => wanted && show(module.panels.filter(({ types }) => types.includes(props.place.type))))
      .catch((cause) => wanted && fail(String(cause)));
    return () => {
      wanted = false;
    };
  }, []);
  return (
    <>
      {fault && (
        <p class="fault" role="alert">
          {t("module.failed", { reason: fault })}
        </p>
      )}
      {panels.map((panel) => (
        <Shown key={panel.title} panel={panel} place={props.place} version={panel.lasts ? "" : props.version} />
      ))}
    </>
  );
}

/** The panels that somebody has opened or closed. They stay so for other objects. */
const opened = new Map<string, boolean>();

function Shown(props: { panel: Panel; place: Place; version: string }) {
  const { panel, place, version } = props;
  const element = useRef<HTMLDivElement>(null);
  const key = `${place.type} ${panel.title}`;
  const [open, toggle] = useState(opened.get(key) ?? panel.open ?? false);
  const [fault, fail] = useState("");
  const [used, use] = useState(open);
  useEffect(() => {
    if (!used) return;
    fail("");
    try {
      const end = panel.show(element.current!, place, services);
      return () => {
        try {
          end?.();
        } catch (cause) {
          reportError(cause); // the page is left all the same
        }
      };
    } catch (cause) {
      fail(String(cause));
    }
  }, [used, version]);
  return (
    <details
      class="panel module"
      open={open}
      onToggle={({ currentTarget }) => {
        opened.set(key, currentTarget.open);
        toggle(currentTarget.open);
        if (currentTarget.open) use(true);
      }}
    >
      <summary>{t(panel.title)}</summary>
      {fault && (
        <p class="fault" role="alert">
          {t("module.failed", { reason: fault })}
        </p>
      )}
      <div key={version} ref={element} />
    </details>
  );
}

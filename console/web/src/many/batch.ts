// Transactions of many objects. What is refused is left out, and the others are sent again;
// what may have arrived is repeated with the same key.

import { signal } from "@preact/signals";
import { api, pathOf, randomId, type Answer } from "../api";
import { writesOnly } from "../form/saving";
import type { Schema } from "../form/schema";
import type { JsonObject } from "../form/value";
import type { Message } from "../texts";

const mostObjects = 1000;
/** Half of what a request can have, as objects are sent with their conditions. */
const mostBytes = 8 << 20;

export interface Operation {
  object: JsonObject;
  ifMatch?: string;
  ifNoneMatch?: string;
}

export interface Noted<O> {
  operation: O;
  messages: Message[];
}

interface Part<O> {
  operations: O[];
  key: string;
}

export class Transactions<O extends Operation> {
  readonly accepted: O[] = [];
  readonly refused: Noted<O>[] = [];
  readonly warned: Noted<O>[] = [];
  total: number;
  /** How many operations have been answered. */
  readonly done = signal(0);
  readonly running = signal(false);
  /** Why the transactions ended before all were sent. */
  readonly fault = signal<Answer | null>(null);
  private readonly parts: Part<O>[] = [];
  private stopping = false;

  constructor(readonly network: string, readonly type: string, readonly schema: Schema, operations: O[], readonly validateOnly: boolean) {
    this.total = operations.length;
    let bytes = 0;
    for (const operation of operations) {
      const length = JSON.stringify(operation.object).length;
      const last = this.parts.at(-1);
      if (last && last.operations.length < mostObjects && bytes + length <= mostBytes) last.operations.push(operation);
      else {
        this.parts.push(part([operation]));
        bytes = 0;
      }
      bytes += length;
    }
  }

  /** What has not been sent, or may not have arrived. */
  get rest(): O[] {
    return this.parts.flatMap(({ operations }) => operations);
  }

  /** How many of the rest, at its beginning, may have arrived. */
  get unknown(): number {
    return this.fault.value?.status === 0 && !this.validateOnly ? (this.parts[0]?.operations.length ?? 0) : 0;
  }

  stop(): void {
    this.stopping = true;
  }

  /** Refuses an operation without sending it. */
  refuse(operation: O, messages: Message[]): void {
    this.refused.push({ operation, messages });
    this.total++;
    this.done.value++;
  }

  /** Sends what has not been sent, until it is stopped or the service does not answer. */
  async go(): Promise<void> {
    this.stopping = false;
    this.fault.value = null;
    this.running.value = true;
    while (this.parts.length > 0 && !this.stopping) {
      const answer = await this.send(this.parts[0]!);
      if (!this.settle(this.parts[0]!, answer)) {
        this.fault.value = answer;
        break;
      }
      this.done.value = this.total - this.rest.length;
    }
    this.running.value = false;
  }

  private send({ operations, key }: Part<O>): Promise<Answer> {
    const path = pathOf("batch", this.network, undefined, { fieldValidation: "Strict", ...(this.validateOnly && { validateOnly: "true" }) });
    const body = {
      operations: operations.map(({ object, ifMatch, ifNoneMatch }) => ({ type: this.type, object, ...(ifMatch !== undefined && { ifMatch }), ...(ifNoneMatch !== undefined && { ifNoneMatch }) })),
    };
    const unkeyed = this.type === "tokens" || operations.some(({ object }) => writesOnly(this.schema, this.schema, object));
    return unkeyed ? api.send("POST", path, body) : api.sendKeyed("POST", path, body, key);
  }

  /** Does what follows from an answer. False means that nothing more can be sent. */
  private settle({ operations }: Part<O>, { status, body }: Answer): boolean {
    if (status === 200 || status === 201) {
      this.parts.shift();
      operations.forEach((operation, i) => {
        this.accepted.push(operation);
        const messages: Message[] = body?.results?.[i]?.validationWarnings ?? [];
        if (messages.length > 0) this.warned.push({ operation, messages });
      });
      return true;
    }
    if (status < 400 || status > 499 || status === 401 || status === 429) return false;
    const messages: Message[] = body?.messages ?? [];
    const faults = new Map<number, Message[]>();
    for (const message of messages) {
      const index = operations.length === 1 ? 0 : message.params?.index;
      if (typeof index === "number" && index < operations.length) faults.set(index, [...(faults.get(index) ?? []), message]);
    }
    if (faults.size > 0) {
      for (const [i, found] of faults) this.refused.push({ operation: operations[i]!, messages: found });
      const others = operations.filter((_, i) => !faults.has(i));
      this.parts.splice(0, 1, ...(others.length > 0 ? [part(others)] : []));
      return true;
    }
    if (status !== 413 || operations.length === 1) return false;
    const half = operations.length >> 1;
    this.parts.splice(0, 1, part(operations.slice(0, half)), part(operations.slice(half)));
    return true;
  }
}

const part = <O,>(operations: O[]): Part<O> => ({ operations, key: randomId() });

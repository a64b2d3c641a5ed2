// definitions: a service as it is after loading: checked, compiled, ready to be decided on.
import type { JsonObject } from '../model/json/value.ts'
import type { Webhook } from './compile/webhooks.ts'
import type { Template } from './expressions/expression.ts'
import type { Lines } from './compile/line.ts'
import type { Shape } from './values/properties.ts'

export interface CompiledFlux {
  /** Content hash: covers package, name, source and models. */
  readonly hash: string
  /** The text under that hash: enough to compile it again (see definitions/compile.ts). */
  readonly text: string
  readonly package: string
  readonly fluxName: string
  /** The file's content, untouched. */
  readonly source: JsonObject
  readonly input: Shape
  readonly output: Shape
  readonly tags: readonly Template[]
  /** Of each new context that is given none; null: they have none. Evaluated over the inputs. */
  readonly key: Template | null
  readonly keyReuse: KeyReuse
  readonly triggers: readonly CompiledTrigger[]
  readonly webhooks: readonly Webhook[]
  readonly secured: boolean
  readonly allowExtraProperties: boolean
  readonly states: readonly CompiledState[]
  readonly stateIndex: ReadonlyMap<string, number>
  readonly startState: number
  /** Of a pinned one: parts that fail when they are reached. What is loaded has none. */
  readonly faults: readonly string[]
  /** Why there is nothing of a pinned one but what its context tells (see lost.ts); null: `source` is its own. */
  readonly lost: string | null
  /** A later version of the program pinned it: this one must not run it. */
  readonly isNewer: boolean
}

/** When a key may be used again: when its context has ended, or only when that is no longer kept. */
export type KeyReuse = 'ended' | 'never'

/** An event that starts the service. */
export interface CompiledTrigger {
  readonly event: string
  /** Of the context that it starts, instead of the service's own. */
  readonly key: Template | null
  /** It starts only if the event has moved no context. */
  readonly unlessMoved: boolean
}

export interface CompiledState {
  readonly index: number
  readonly name: string
  readonly waiting: boolean
  readonly input: Shape
  readonly output: Shape
  readonly action: CompiledAction
  readonly transitions: readonly CompiledTransition[]
  /**
   * Why the state itself, its action or a transition can't be run any more: a context may stand in it where it has no
   * place any more.
   */
  readonly fault: string | null
  /** Indices into `transitions`. `events`: by name, without `$else`, `$exception` and the event-less ones. */
  readonly choice: {
    readonly events: ReadonlyMap<string, number>
    readonly otherwise: number | null
    readonly exception: number | null
    /** The lone event-less transition. */
    readonly lone: number | null
    /** The timed, event-less ones of a waiting state. */
    readonly timed: readonly number[]
    /** Nothing to choose from: the context ends after the action. */
    readonly end: boolean
  }
}

export interface CompiledTransition {
  /** null: event-less. */
  readonly event: string | null
  readonly to: number
  readonly wait: Wait | null
  readonly lines: Lines
  /** Why it can't be taken any more; its lines fail with that. */
  readonly fault: string | null
}

export interface Wait {
  readonly kind: 'duration' | 'date'
  /** Seconds for a duration; epoch milliseconds or ISO 8601 text for a date. */
  readonly value: Template
}

export interface Retry {
  readonly maxAttempts: number
  /** Milliseconds. */
  readonly delay: number
  readonly factor: number
  /** Milliseconds. */
  readonly maxDelay: number
}

export interface CompiledAction {
  /** As files name it. */
  readonly type: 'map' | 'invokeCode' | 'invokeFlux' | 'script'
  /** What is to be started after the commit; null: nothing, it ends in the turn. */
  readonly effect: 'step' | 'child' | null
  /** They work out its arguments. */
  readonly inputs: Lines
  /** They run on its result; a map has no others. */
  readonly outputs: Lines
  readonly retry: Retry
  /** null: none. */
  readonly timeoutMs: number | null
  /** The function that it calls; `isolate`: in a process of its own. */
  readonly code: { readonly className: string; readonly methodName: string; readonly isolate: boolean } | null
  readonly script: string | null
  /** The service that it starts. */
  readonly child: string | null
  /** Why it can't be run any more. */
  readonly fault: string | null
}

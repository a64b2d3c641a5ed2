// definitions: a compiled service, ready to be interpreted.
import type { JsonObject } from '../model/json/value.ts'
import type { Webhook } from './compile/webhooks.ts'
import type { Expression } from './expressions/expression.ts'
import type { Lines } from './lines/line.ts'
import type { Shape } from './values/properties.ts'

export interface CompiledFlux {
  /** Content hash of `text`: package, name, source and models. */
  readonly hash: string
  /** The text that is stored under the hash. `recompile` (service.ts) compiles it again. */
  readonly text: string
  readonly package: string
  readonly fluxName: string
  /** The content of the file, unchanged. */
  readonly source: JsonObject
  readonly input: Shape
  readonly output: Shape
  /** Templates over the inputs. */
  readonly tags: readonly Expression[]
  /** The key of a new context that is started without one, over the inputs; null: it has none. */
  readonly key: Expression | null
  /** When a key may be used again: when its context has ended, or only when that is no longer kept. */
  readonly keyReuse: 'ended' | 'never'
  readonly triggers: readonly CompiledTrigger[]
  /** By event: how long, in milliseconds, a context keeps one that comes before the context waits for it. */
  readonly early: ReadonlyMap<string, number>
  /** The webhook that is called when a context has ended; null: there is none. */
  readonly onEnd: OnEnd | null
  readonly webhooks: readonly Webhook[]
  readonly secured: boolean
  /** Whether a property of it, or of a model, is sensitive. */
  readonly isSensitive: boolean
  readonly states: readonly CompiledState[]
  readonly stateIndex: ReadonlyMap<string, number>
  readonly startState: number
  /**
   * Faults of a pinned definition: contexts fail when they act in the states that have them. A loaded definition has none.
   */
  readonly faults: readonly string[]
  /**
   * Why a pinned definition had to be reconstructed from its context (see compile/lost.ts); null if `source` could be
   * read.
   */
  readonly lost: string | null
  /** Whether a pinned definition has another format than this version's, which must not run it. */
  readonly isForeign: boolean
}

/** The webhook that is called when a context has ended. */
export interface OnEnd {
  /** A template over the inputs. One with a fault fails when it is evaluated. */
  readonly url: Expression
  /** Name of the secret with which the call is signed. */
  readonly secret: string
}

/** An event that starts the service. */
export interface CompiledTrigger {
  readonly event: string
  /** The key of the context that it starts, instead of the service's own. */
  readonly key: Expression | null
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
   * Why the state can't be run any more; null if it can. A context may then be in a phase that the state no longer has,
   * and fails when it acts.
   */
  readonly fault: string | null
  /** Indices into `transitions`. `events`: those with an event, by its name, except `$else` and `$exception`. */
  readonly choice: {
    readonly events: ReadonlyMap<string, number>
    /** Transitions that only the state's own action chooses: senders do not know their events. None is in `events`. */
    readonly internal: ReadonlyMap<string, number>
    readonly otherwise: number | null
    readonly exception: number | null
    /** The only transition without event, of a state that does not wait. */
    readonly lone: number | null
    /** The transitions without event of a waiting state, which are timed. */
    readonly timed: readonly number[]
    /** Whether the state has no transition to choose: the context ends after the action. */
    readonly end: boolean
  }
}

export interface CompiledTransition {
  /** null: a transition without event. */
  readonly event: string | null
  readonly to: number
  readonly wait: Wait | null
  readonly lines: Lines
}

export interface Wait {
  readonly kind: 'duration' | 'date'
  /** The transition, in messages. */
  readonly of: string
  /** Seconds for a duration; epoch milliseconds or ISO 8601 text for a date. */
  readonly value: Expression
}

export interface Retry {
  readonly maxAttempts: number
  /** Milliseconds. */
  readonly delay: number
  readonly factor: number
  /** Milliseconds. */
  readonly maxDelay: number
  /** The delay after each attempt, in milliseconds, in place of `delay` and `factor`. */
  readonly schedule?: readonly number[]
  /** Share of the delay by which it varies at random, in both directions; left out: none. */
  readonly jitter?: number
}

export interface CompiledAction {
  /** Name of the type in files. */
  readonly type: 'map' | 'invokeCode' | 'invokeFlux' | 'script'
  /** What the action starts after the commit; null if it completes within the turn. */
  readonly effect: 'step' | 'child' | null
  /** Lines that compute its arguments. */
  readonly inputs: Lines
  /** Names of the secrets that the arguments refer to. */
  readonly secrets: readonly string[]
  /** Lines that run on its result. A map has only these. */
  readonly outputs: Lines
  readonly retry: Retry
  /** null: no timeout. */
  readonly timeoutMs: number | null
  /** The function that it calls. `isolate`: in a separate process. */
  readonly code: { readonly className: string; readonly methodName: string; readonly isolate: boolean } | null
  readonly script: string | null
  /** The service that it starts. */
  readonly child: string | null
}

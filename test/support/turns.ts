// Turns for tests: a compiled service, and what a turn has at hand, without a store.
import { WorkBudget } from '../../src/definitions/work-budget.ts'
import { compileFlux } from '../../src/definitions/service.ts'
import type { CompiledFlux } from '../../src/definitions/flux.ts'
import { Report } from '../../src/definitions/report.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import type { ContextId, Move, StepKind } from '../../src/model/context.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import type { ViewEnv } from '../../src/engine/record/views.ts'
import { stepKindOf } from '../../src/engine/interpreter/position.ts'
import type { Slot } from '../../src/engine/turn/admission.ts'
import type { Input } from '../../src/engine/interpreter/decision.ts'
import type { MessageOutcome } from '../../src/engine/turn/message.ts'
import { runStart, runTurn, type Decided, type TurnResult } from '../../src/engine/turn/turn.ts'
import type { KnownContext } from '../../src/engine/contexts/context-loader.ts'
import type { KnownContexts } from '../../src/engine/turn/turn-data.ts'
import type { TurnEnv } from '../../src/engine/turn/message.ts'

export function compiled(source: JsonObject, fluxName = 'Test'): CompiledFlux {
  const report = new Report(`${fluxName}.flux`)
  const flux = compileFlux({ package: 'p', fluxName, source, models: new Map() }, report)
  if (!flux) throw new Error(JSON.stringify(report.faults))
  return flux
}

/** A slot for a step that may start. */
export const freeSlot = (kind: StepKind): Slot => ({
  kind,
  fits: () => true,
  addRoom() {},
  releaseRoom() {},
  release() {},
})

export const env = (more: Partial<TurnEnv> = {}): TurnEnv => ({
  now: 1000,
  random: () => 0.5,
  uuid: () => 'u-1',
  owner: 'me',
  tagLimits: { count: 64, bytes: 256 },
  admit: (flux, state) => freeSlot(stepKindOf(flux, state)),
  maxRecord: 1_000_000,
  receiptsMs: 86_400_000,
  partitions: 1,
  budget: new WorkBudget(),
  past: { historyOf: () => [] },
  ...more,
})

/** Has all contexts that its turns wrote. */
export class Hand implements KnownContexts {
  readonly services: readonly CompiledFlux[]
  readonly contexts = new Map<ContextId, KnownContext>()
  #ids = 0

  constructor(services: readonly CompiledFlux[] = []) {
    this.services = services
  }

  context(id: ContextId): KnownContext | null {
    return this.contexts.get(id) ?? null
  }

  history(): readonly [] {
    return []
  }

  newId(): ContextId {
    this.#ids += 1
    return this.#ids
  }

  holder(): null {
    return null
  }

  isPinned(): boolean {
    return true
  }

  service(_: string, fluxName: string): CompiledFlux | undefined {
    return this.services.find((flux) => flux.fluxName === fluxName)
  }

  start(flux: CompiledFlux, more: Partial<TurnEnv> = {}): Decided {
    return this.#take(
      runStart({ flux, input: {}, untyped: false, unknown: 'refuse', tags: [], trigger: null }, 0, this, env(more)),
    )
  }

  turn(id: ContextId, inputs: readonly Input[], more: Partial<TurnEnv> = {}): Decided {
    return this.#take(runTurn(id, inputs, this, env(more)))
  }

  #take(result: TurnResult): Decided {
    if (result.kind !== 'decided') throw new Error(`expected a decision: ${JSON.stringify(result)}`)
    for (const {
      context: { id, parts },
    } of result.writes) {
      const context = result.work.contexts.get(id)
      if (context) this.contexts.set(id, { record: context.record, flux: context.flux, texts: parts })
    }
    return result
  }
}

export type { Decided }

export const event = (name: string): Input => ({
  type: 'EVENT',
  name,
  eventId: 'e-1',
  input: {},
  untyped: false,
  tags: null,
  caller: SYSTEM,
})

export const TERMINATE: Input = { type: 'TERMINATE', caller: SYSTEM }

/** What the sender of a message would be told. */
export const outcomeOf = (
  { context: { record, flux } }: Decided,
  more: Partial<MessageOutcome> = {},
): MessageOutcome => ({
  moved: true,
  failure: null,
  record,
  flux,
  ...more,
})

/** For the view of a context without relatives. */
export const viewEnv = (moves: readonly Move[]): ViewEnv => ({
  moves,
  parent: null,
  child: null,
  startedAt: () => undefined,
  now: 0,
})

// engine: the call that waits until a context gets somewhere.
import type { ContextView } from '../../api/get-context.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { FluxError, invalid, notFound } from '../../model/failure.ts'
import type { ContextRecord, Move } from '../../model/record.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { decodeRecord, movesOf } from '../record/codec.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import type { StartedAt } from '../record/step-view.ts'
import { contextView } from '../record/views.ts'
import { hasEntered, standsSo, type Condition } from '../waits/condition.ts'
import type { Wait, WaitOutcome, Waits } from '../waits/waits.ts'
import { describeInputErrors } from './describe.ts'
import type { waitRequest } from './requests.ts'

interface ShownContext {
  readonly record: ContextRecord
  readonly moves: readonly Move[]
  readonly view: ContextView
}

interface ShownContextsParts {
  readonly store: Store
  readonly catalog: Catalog
  readonly log: Log
  readonly waits: Waits
  readonly startedAt: StartedAt
}

/** Views of contexts that callers have waited for: those who waited for the same commit share one. */
export class ShownContexts {
  readonly #parts: ShownContextsParts
  readonly #shown = new Map<ContextId, { readonly version: number | null; readonly shown: Promise<ShownContext> }>()

  constructor(parts: ShownContextsParts) {
    this.#parts = parts
  }

  /** The context as it is now. @throws FluxError `notFound` */
  show(id: ContextId): Promise<ShownContext> {
    const version = this.#parts.waits.versionOf(id)
    const known = this.#shown.get(id)
    if (known && version !== null && known.version === version) return known.shown
    const shown = this.#read(id)
    this.#shown.set(id, { version, shown })
    const forget = () => {
      if (this.#shown.get(id)?.shown === shown) this.#shown.delete(id)
    }
    shown.then(forget, forget)
    return shown
  }

  async #read(id: ContextId): Promise<ShownContext> {
    const { store, catalog, startedAt } = this.#parts
    const stored = await store.load({ id })
    if (!stored) throw notFound(`there is no context ${id}`)
    await breathe(charactersOf(stored.parts))
    const record = decodeRecord(stored)
    const flux = await pinnedFluxOf({ catalog, store }, stored, record)
    const moves = await movesOf(record, this.#parts)
    return { record, moves, view: contextView(record, flux, moves, startedAt) }
  }
}

export interface WaitForParts {
  readonly waits: Waits
  /** Which context the caller means. */
  readonly contextIdOf: (request: { readonly contextId: ContextId }) => ContextId
  /** @throws FluxError when it isn't there, or the caller may not see it */
  readonly find: (id: ContextId) => Promise<{ readonly record: ContextRecord; readonly flux: CompiledFlux }>
  readonly shown: ShownContexts
  readonly isStep: boolean
}

/**
 * The context, as soon as it gets there. @throws FluxError `waitTimeout`, `conflict`, `notFound`, `invalid` for states
 * that its definition lacks, `overloaded`, `unavailable`; what `signal` says
 */
export async function waitFor(
  parts: WaitForParts,
  request: ReturnType<typeof waitRequest>,
  signal: AbortSignal | undefined,
): Promise<ContextView> {
  const { waits, contextIdOf, isStep } = parts
  const wait = waits.join(contextIdOf(request), { isStep })
  try {
    const outcome = await begin(parts, wait, request, signal)
    return await conclude(parts, wait, outcome)
  } finally {
    waits.leave(wait)
  }
}

/** No async function: it would keep what was read for as long as the request is held. */
const begin = (
  { find, waits }: WaitForParts,
  wait: Wait,
  { statuses, stateNames, tags, timeout }: ReturnType<typeof waitRequest>,
  signal: AbortSignal | undefined,
): Promise<WaitOutcome> =>
  find(wait.id).then(({ record, flux }) => {
    const condition = { statuses, states: statesOf(flux, stateNames), tags }
    return waits.hold(wait, record, { condition, timeout, signal })
  })

function statesOf({ fluxName, stateIndex }: CompiledFlux, names: readonly string[]): number[] {
  const errors = names.flatMap((name, at) =>
    stateIndex.has(name) ? [] : [{ pointer: `/state/${at}`, detail: `is no state of '${fluxName}'` }],
  )
  if (errors.length > 0) throw invalid(describeInputErrors(errors), errors)
  return [...new Set(names.flatMap((name) => stateIndex.get(name) ?? []))]
}

async function conclude({ shown }: WaitForParts, wait: Wait, outcome: WaitOutcome): Promise<ContextView> {
  const { record, moves, view } = await shown.show(wait.id)
  if (outcome === 'there' || (wait.condition && isThere(wait.condition, wait.seen, record, moves))) return view
  const { id, status } = record
  if (isFinished(status))
    throw new FluxError({ kind: 'conflict', detail: `context ${id} has ended: ${status}`, context: view })
  throw new FluxError({ kind: 'waitTimeout', detail: `context ${id} did not get there in time`, context: view })
}

/** Another server may have brought it there, and that was not heard. */
const isThere = (condition: Condition, seen: number | null, record: ContextRecord, moves: readonly Move[]): boolean =>
  standsSo(condition, record) || hasEntered(condition, moves, record.moves - (seen ?? record.moves))

// engine: the calls. HTTP and the `flux` argument of functions both come through here.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { check } from '../../api/check.ts'
import { GET_CONTEXT } from '../../api/get-context.ts'
import { GET_DEFINITION } from '../../api/get-definition.ts'
import { GET_STATE } from '../../api/get-state.ts'
import { TERMINATE } from '../../api/terminate.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import type { EventAnswer } from '../../api/send-event.ts'
import type { ExecuteRequest } from '../../api/execute.ts'
import type { Fits, ListRequest } from '../../api/list-contexts.ts'
import type { FluxApi } from '../../api/flux-api.ts'
import type { TagRequest } from '../../api/tags.ts'
import { denial, type Caller, type Role } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import type { CountBound } from '../../model/count-bound.ts'
import { conflict, FluxError, notFound, type Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { TagLimits } from '../../model/tags.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import { bytesOf } from '../../model/json/weight.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Log } from '../../ports/log.ts'
import type { Store, StoredContext } from '../../ports/store.ts'
import { broadcast } from './broadcast.ts'
import { decodeRecord, movesOf } from '../record/codec.ts'
import type { Input } from '../interpreter/decision.ts'
import { snapshotOf } from '../interpreter/snapshot.ts'
import type { EventHints } from './event-hint.ts'
import { list } from './list.ts'
import { standOf, type Mailboxes } from '../mailboxes.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { isLogged, type RefusalLog } from '../refusal-log.ts'
import { eventRequest, executeRequest, listRequest, tagRequest, waitRequest } from './requests.ts'
import type { StartedAt } from '../record/step-view.ts'
import { contextView, stateView } from '../record/views.ts'
import type { Waits } from '../waits/waits.ts'
import { waitFor, type ShownContexts } from './wait-for.ts'

export interface FacadeParts {
  readonly tagLimits: TagLimits
  readonly store: Store
  readonly catalog: Catalog
  readonly mailboxes: Mailboxes
  readonly hints: EventHints
  readonly log: Log
  /** When a step began that runs or waits in this server. */
  readonly startedAt: StartedAt
  readonly refusals: RefusalLog
  readonly waits: Waits
  readonly shown: ShownContexts
  /** Large broadcasts at once. */
  readonly broadcasts: CountBound
}

export interface Access {
  readonly caller: Caller
  /** The package in which services named without one are sought first. */
  readonly home: string | null
  /** Charged with what calls are given until it is dealt with; null: that is charged elsewhere. */
  readonly admission: ByteBudget | null
  /** A step asks: that belongs to what was acknowledged already, so it isn't refused when there is much to do. */
  readonly isStep: boolean
}

/** What a call's input is charged: it is copied, and made a text. */
const COPIES = 3

/** @throws FluxError `overloaded` */
async function charged<T>(budget: ByteBudget, input: JsonObject, run: () => Promise<T>): Promise<T> {
  const release = budget.take(bytesOf(input, Infinity) * COPIES)
  try {
    return await run()
  } finally {
    release()
  }
}

/** The calls, as that caller may make them. */
export function facade(
  { store, catalog, mailboxes, hints, log, refusals, tagLimits, startedAt, waits, shown, broadcasts }: FacadeParts,
  { caller, home, admission, isStep }: Access,
): FluxApi {
  const admitted = <T>(input: JsonObject, run: () => Promise<T>): Promise<T> =>
    admission === null ? run() : charged(admission, input, run)
  const guard = (flux: CompiledFlux, role: Role) => {
    const failure = flux.secured ? denial(caller, role) : null
    if (failure) throw new FluxError(failure)
  }
  const compiled = (stored: StoredContext, record: ContextRecord) => pinnedFluxOf({ catalog, store }, stored, record)
  const find = async (id: ContextId) => {
    const stored = await store.load({ id: id })
    if (!stored) throw notFound(`there is no context ${id}`)
    const record = decodeRecord(stored)
    await breathe(charactersOf(stored.parts))
    const flux = await compiled(stored, record)
    guard(flux, 'read')
    return { record, flux }
  }
  const send = async (id: ContextId, input: Input) => {
    const outcome = await mailboxes.post(id, input, { isCall: !isStep })
    if (outcome.failure) throw new FluxError(outcome.failure)
    return outcome
  }
  /** What the log tells of a context that wasn't reached. */
  const factsOf = async (contextId: ContextId) => {
    const stored = await store.load({ id: contextId })
    if (!stored) return { contextId, fluxName: null, state: null }
    const record = decodeRecord(stored)
    const { states } = await compiled(stored, record)
    return { contextId, fluxName: record.fluxName, state: states[record.state]?.name ?? null }
  }
  /** Tells the log when an event for one context is refused. */
  const logRefusal = (contextId: unknown, event: unknown, error: unknown): void => {
    const failure = error instanceof FluxError && isLogged(error.failure) ? error.failure : null
    if (failure === null || typeof contextId !== 'number') return
    const facts = async () => ({ ...(await factsOf(contextId)), event, reason: failure.detail })
    void refusals.log('an event was refused', failure.kind, facts)
  }
  const tag = async (request: TagRequest, change: 'add' | 'remove') => {
    const { contextId, tags } = tagRequest(request, tagLimits)
    await send(contextId, { type: 'TAG', add: [], remove: [], [change]: tags, caller })
    const names = tags.map((name) => `'${name}'`).join(', ')
    return {
      message:
        change === 'add' ? `added ${names} to context ${contextId}` : `removed ${names} from context ${contextId}`,
    }
  }

  /** The answer stands without it. */
  const hintOn = async (event: string): Promise<{ hint?: string }> => {
    const hint = await hints.hintFor(event, caller).catch((error: unknown) => {
      log.debug('an event came to nothing, and whether any service knows it could not be found out', { event, error })
      return null
    })
    return hint === null ? {} : { hint }
  }

  const page = (request: ListRequest, fits?: Fits) =>
    list(
      {
        store,
        log,
        securedServices: () => catalog.all().filter(({ secured }) => secured),
        secured: async (stored, record) => (await compiled(stored, record)).secured,
        view: async (stored, record) =>
          contextView(record, await compiled(stored, record), await movesOf(record, { store, log }), startedAt),
      },
      caller,
      listRequest(request, tagLimits),
      fits,
    )

  return {
    async execute(request) {
      const wanted = executeRequest(request, tagLimits)
      if (wanted.isLarge) await nextTurn()
      const flux = serviceOf(catalog, wanted, home)
      guard(flux, 'invoke')
      const { startState, input, untyped, tags } = wanted
      const { record } = await admitted(input, () =>
        mailboxes.start(
          { flux, startState, input, untyped, unknown: 'refuse', tags, trigger: null },
          { isCall: !isStep },
        ),
      )
      return { message: `started '${flux.fluxName}' as context ${record.id}`, contextId: record.id }
    },

    async terminate(request) {
      const { contextId } = check(TERMINATE, request)
      await send(contextId, { type: 'TERMINATE', caller })
      return { message: `terminated context ${contextId}` }
    },

    async sendEvent(request) {
      try {
        const { contextId, event, isLarge, input, untyped, tags } = eventRequest(request, tagLimits)
        if (isLarge) await nextTurn()
        if (contextId === undefined) {
          const answer = await admitted(input, () =>
            broadcast(
              { store, catalog, mailboxes, log, refusals, bound: isStep ? null : broadcasts },
              { event, input, untyped, tags, caller },
            ),
          )
          return isNobody(answer) ? { ...answer, ...(await hintOn(event)) } : answer
        }
        const outcome = await admitted(input, () =>
          mailboxes.post(
            contextId,
            { type: 'EVENT', name: event, input, untyped, tags: null, caller },
            { isCall: !isStep },
          ),
        )
        const failure: Failure | null = outcome.failure
        if (failure?.kind === 'conflict') throw new FluxError({ ...failure, ...(await hintOn(event)) })
        if (failure) throw new FluxError(failure)
        return {
          message: `'${event}' moved context ${contextId}`,
          transitions: [standOf(outcome)],
          executions: [],
          ignored: [],
        }
      } catch (error) {
        logRefusal(request?.contextId, request?.event, error)
        throw error
      }
    },

    listContexts: async (request) => (await page(request)).contexts,
    listPage: page,

    async getContext(request) {
      const { contextId, snapshot } = check(GET_CONTEXT, request)
      const { record, flux } = await find(contextId)
      const view = contextView(record, flux, await movesOf(record, { store, log }), startedAt)
      return snapshot ? { ...view, snapshot: snapshotOf(record, flux) } : view
    },

    async waitFor(request, { signal } = {}) {
      const wanted = waitRequest(request, tagLimits)
      return waitFor({ waits, shown, find, isStep, contextIdOf: ({ contextId }) => contextId }, wanted, signal)
    },

    async getStateContext(request) {
      const { contextId, stateName } = check(GET_STATE, request)
      const { record, flux } = await find(contextId)
      const state = flux.states[flux.stateIndex.get(stateName) ?? -1]
      if (!state) throw notFound(`'${flux.fluxName}' has no state '${stateName}'`)
      return stateView(record, flux, state, await movesOf(record, { store, log }))
    },

    addTags: (request) => tag(request, 'add'),
    removeTags: (request) => tag(request, 'remove'),

    async getDefinition(request) {
      const { fluxName, contextId } = check(GET_DEFINITION, request)
      if (contextId !== undefined) return sourceOf(contextId, (await find(contextId)).flux)
      const flux = anywhere(catalog, fluxName)
      guard(flux, 'read')
      return flux.source
    },
  }
}

function sourceOf(contextId: ContextId, { source, lost }: CompiledFlux): JsonObject {
  if (lost !== null) throw notFound(`the definition that context ${contextId} was started with can't be shown: ${lost}`)
  return source
}

const isNobody = ({ transitions, executions, ignored }: EventAnswer): boolean =>
  transitions.length + executions.length + ignored.length === 0

function serviceOf(
  catalog: Catalog,
  { package: given, fluxName }: Pick<ExecuteRequest, 'package' | 'fluxName'>,
  home: string | null,
): CompiledFlux {
  if (given !== undefined) {
    const flux = catalog.find(given, fluxName)
    if (!flux) throw notFound(`package '${given}' has no service '${fluxName}'`)
    return flux
  }
  return (home === null ? undefined : catalog.find(home, fluxName)) ?? anywhere(catalog, fluxName)
}

function anywhere(catalog: Catalog, fluxName: string): CompiledFlux {
  const [flux, ...others] = catalog.findAnywhere(fluxName)
  if (!flux) throw notFound(`there is no service '${fluxName}'`)
  if (others.length > 0)
    throw conflict(
      `several packages have a service '${fluxName}': ${[flux, ...others].map((one) => `'${one.package}'`).join(', ')}`,
    )
  return flux
}

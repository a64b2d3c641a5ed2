// runtime: the nine calls. HTTP and the `flux` argument of functions both come through here.
import type { Catalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import type { EventRequest, ExecuteRequest, FluxApi, ListRequest, TagRequest } from '../model/calls.ts'
import { denial, type Caller, type Role } from '../model/caller.ts'
import type { ContextId } from '../model/context.ts'
import { conflict, FluxError, invalid, malformed, notFound } from '../model/failure.ts'
import { isObject, toJson, type JsonObject } from '../model/json.ts'
import { LOG_LIMIT, type ContextRecord } from '../model/record.ts'
import type { Store } from '../ports/store.ts'
import { broadcast } from './broadcast.ts'
import { decode, decodeMove } from './codec.ts'
import { standOf, type Contexts } from './contexts.ts'
import { describe, type Input } from './decide.ts'
import { tagErrors } from '../model/tags.ts'
import { wordsOfList } from './terms.ts'
import { contextView, stateView } from './views.ts'

export interface FacadeParts {
  readonly store: Store
  readonly catalog: Catalog
  readonly contexts: Contexts
}

const LIST_LIMIT = 30
const MAX_LIST_LIMIT = 1000

/** The calls, as that caller may make them. `home`: the package in which services named without one are sought first. */
export function facade({ store, catalog, contexts }: FacadeParts, caller: Caller, home: string | null): FluxApi {
  const guard = (flux: CompiledFlux, role: Role) => {
    const failure = flux.secured ? denial(caller, role) : null
    if (failure) throw new FluxError(failure)
  }
  const compiled = ({ definition }: ContextRecord) => catalog.compiled(definition, () => store.getDefinition({ hash: definition }))
  const find = async (id: ContextId) => {
    const stored = await store.load({ id: checkedId(id) })
    if (!stored) throw notFound(`there is no context ${id}`)
    const record = decode(stored)
    const flux = await compiled(record)
    guard(flux, 'read')
    return { record, flux }
  }
  const send = async (id: ContextId, input: Input) => {
    const outcome = await contexts.deliver(checkedId(id), input)
    if (outcome.failure) throw new FluxError(outcome.failure)
    return outcome
  }
  const logOf = async (id: ContextId) => (await store.log({ id, limit: LOG_LIMIT })).map(decodeMove)
  const tag = async (request: TagRequest, change: 'add' | 'remove') => {
    const errors = tagErrors(request.tag, '/tag')
    if (errors.length > 0) throw invalid(describe(errors), errors)
    if (request.tag.length === 0) throw malformed('no tag is given')
    const letter = { type: 'TAG' as const, add: [], remove: [], [change]: request.tag, caller }
    await send(request.contextId, letter)
    const names = request.tag.map((name) => `'${name}'`).join(', ')
    return { message: change === 'add' ? `added ${names} to context ${request.contextId}` : `removed ${names} from context ${request.contextId}` }
  }

  return {
    async execute(request) {
      const flux = serviceOf(catalog, request, home)
      guard(flux, 'invoke')
      const input = checkedInput(request.input)
      const tags = checkedTags(request.tags)
      const { record } = await contexts.start({ flux, startState: request.startState, input, unknown: 'refuse', tags, trigger: null, parent: null })
      return { message: `started '${flux.fluxName}' as context ${record.id}`, contextId: record.id }
    },

    async terminate({ contextId }) {
      await send(contextId, { type: 'TERMINATE', caller })
      return { message: `terminated context ${contextId}` }
    },

    async sendEvent(request) {
      const event = checkedEvent(request)
      const input = checkedInput(request.input)
      if (request.contextId === undefined) return broadcast({ store, catalog, contexts }, { event, input, tags: checkedTags(request.tags), caller })
      const outcome = await send(request.contextId, { type: 'EVENT', name: event, input, tags: null, caller })
      return { message: `'${event}' moved context ${request.contextId}`, transitions: [standOf(outcome)], executions: [], ignored: [] }
    },

    async listContexts(request) {
      const { limit, skip } = pageOf(request)
      const all = wordsOfList(request)
      const stored = await store.list({ all, limit, skip, after: request.after })
      const views = await Promise.all(stored.map(async (context) => {
        const record = decode(context)
        const flux = await compiled(record)
        return flux.secured && denial(caller, 'read') ? null : contextView(record, flux, await logOf(record.id))
      }))
      return views.filter((view) => view !== null)
    },

    async getContext({ contextId, snapshot = false }) {
      const { record, flux } = await find(contextId)
      const view = contextView(record, flux, await logOf(contextId))
      return snapshot ? { ...view, snapshot: record.snapshot } : view
    },

    async getStateContext({ contextId, stateName }) {
      const { record, flux } = await find(contextId)
      const state = flux.states[flux.stateIndex.get(stateName) ?? -1]
      if (!state) throw notFound(`'${flux.fluxName}' has no state '${stateName}'`)
      return stateView(record, flux, state, await logOf(contextId))
    },

    addTags: (request) => tag(request, 'add'),
    removeTags: (request) => tag(request, 'remove'),

    async getDefinition({ fluxName, contextId }) {
      if (contextId !== undefined) return (await find(contextId)).flux.source
      if (fluxName === undefined) throw malformed('fluxName or contextId is needed')
      const flux = anywhere(catalog, fluxName)
      guard(flux, 'read')
      return flux.source
    },
  }
}

function serviceOf(catalog: Catalog, { package: given, fluxName }: ExecuteRequest, home: string | null): CompiledFlux {
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
  if (others.length > 0) throw conflict(`several packages have a service '${fluxName}': ${[flux, ...others].map((one) => `'${one.package}'`).join(', ')}`)
  return flux
}

/** Callers in process are no more trusted to keep to the types than others. */
function checkedId(id: unknown): ContextId {
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1) throw malformed('contextId must be a positive integer below 2^53')
  return id
}

function checkedEvent({ event }: EventRequest): string {
  if (typeof event !== 'string' || event === '') throw malformed('event must be a name')
  if (event.startsWith('$')) throw malformed('names that begin with $ can\'t be sent as events')
  return event
}

function checkedInput(input: unknown): JsonObject {
  if (input === undefined || input === null) return {}
  const value = toJson(input)
  const errors = [{ pointer: '/input', detail: 'must be an object' }]
  if (!isObject(value)) throw invalid(describe(errors), errors)
  return value
}

function checkedTags(tags: readonly string[] = []): readonly string[] {
  const errors = Array.isArray(tags) ? tagErrors(tags, '/tags') : [{ pointer: '/tags', detail: 'must be a list' }]
  if (errors.length > 0) throw invalid(describe(errors), errors)
  return tags
}

function pageOf({ limit = LIST_LIMIT, page = 0, after }: ListRequest): { limit: number; skip: number } {
  if (!Number.isSafeInteger(limit) || limit < 1) throw malformed('limit must be a positive integer')
  if (!Number.isSafeInteger(page) || page < 0) throw malformed('page must be an integer, 0 or more')
  const size = Math.min(limit, MAX_LIST_LIMIT)
  return { limit: size, skip: after === undefined ? Math.min(page * size, Number.MAX_SAFE_INTEGER) : 0 }
}

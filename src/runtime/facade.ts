// runtime: the nine calls. HTTP and the `flux` argument of functions both come through here.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Catalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ExecuteRequest, FluxApi, ListRequest, TagRequest } from '../model/calls.ts'
import { denial, type Caller, type Role } from '../model/caller.ts'
import type { ContextId } from '../model/context.ts'
import { conflict, FluxError, notFound } from '../model/failure.ts'
import type { TagLimits } from '../model/tags.ts'
import type { ContextRecord } from '../model/record.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import { broadcast } from './broadcast.ts'
import { decode, movesOf } from './codec.ts'
import { standOf, type Contexts } from './contexts.ts'
import type { Input } from './decide.ts'
import { list } from './list.ts'
import {
  contextRequest, definitionRequest, eventRequest, executeRequest, listRequest, stateRequest, tagRequest, viewRequest,
} from './requests.ts'
import { contextView, stateView } from './views.ts'

export interface FacadeParts {
  readonly tagLimits: TagLimits
  readonly store: Store
  readonly catalog: Catalog
  readonly contexts: Contexts
  readonly log: Log
}

/** The calls, as that caller may make them. `home`: the package in which services named without one are sought first. */
export function facade({ store, catalog, contexts, log, tagLimits }: FacadeParts, caller: Caller, home: string | null): FluxApi {
  const guard = (flux: CompiledFlux, role: Role) => {
    const failure = flux.secured ? denial(caller, role) : null
    if (failure) throw new FluxError(failure)
  }
  const compiled = ({ definition }: ContextRecord) => catalog.compiled(definition, () => store.getDefinition({ hash: definition }))
  const find = async (id: ContextId) => {
    const stored = await store.load({ id: id })
    if (!stored) throw notFound(`there is no context ${id}`)
    const record = decode(stored)
    const flux = await compiled(record)
    guard(flux, 'read')
    return { record, flux }
  }
  const send = async (id: ContextId, input: Input) => {
    const outcome = await contexts.deliver(id, input)
    if (outcome.failure) throw new FluxError(outcome.failure)
    return outcome
  }
  const tag = async (request: TagRequest, change: 'add' | 'remove') => {
    const { contextId, tags } = tagRequest(request, tagLimits)
    await send(contextId, { type: 'TAG', add: [], remove: [], [change]: tags, caller })
    const names = tags.map((name) => `'${name}'`).join(', ')
    return { message: change === 'add' ? `added ${names} to context ${contextId}` : `removed ${names} from context ${contextId}` }
  }

  const page = (request: ListRequest) => list({
    store, log,
    anySecured: () => catalog.all().some(({ secured }) => secured),
    secured: async (record) => (await compiled(record)).secured,
    view: async (record) => contextView(record, await compiled(record), await movesOf(record, store)),
  }, caller, listRequest(request, tagLimits))

  return {
    async execute(request) {
      const { package: given, fluxName, isLarge, ...birth } = executeRequest(request, tagLimits)
      if (isLarge) await nextTurn()
      const flux = serviceOf(catalog, { package: given, fluxName }, home)
      guard(flux, 'invoke')
      const { record } = await contexts.start({ ...birth, flux, unknown: 'refuse', trigger: null, parent: null })
      return { message: `started '${flux.fluxName}' as context ${record.id}`, contextId: record.id }
    },

    async terminate(request) {
      const { contextId } = contextRequest(request)
      await send(contextId, { type: 'TERMINATE', caller })
      return { message: `terminated context ${contextId}` }
    },

    async sendEvent(request) {
      const { contextId, event, isLarge, ...sent } = eventRequest(request, tagLimits)
      if (isLarge) await nextTurn()
      if (contextId === undefined) return broadcast({ store, catalog, contexts, log }, { event, ...sent, caller })
      const outcome = await send(contextId, { type: 'EVENT', name: event, ...sent, tags: null, caller })
      return { message: `'${event}' moved context ${contextId}`, transitions: [standOf(outcome)], executions: [], ignored: [] }
    },

    listContexts: async (request) => (await page(request)).contexts,
    listPage: page,

    async getContext(request) {
      const { contextId, snapshot } = viewRequest(request)
      const { record, flux } = await find(contextId)
      const view = contextView(record, flux, await movesOf(record, store))
      return snapshot ? { ...view, snapshot: record.snapshot } : view
    },

    async getStateContext(request) {
      const { contextId, stateName } = stateRequest(request)
      const { record, flux } = await find(contextId)
      const state = flux.states[flux.stateIndex.get(stateName) ?? -1]
      if (!state) throw notFound(`'${flux.fluxName}' has no state '${stateName}'`)
      return stateView(record, flux, state, await movesOf(record, store))
    },

    addTags: (request) => tag(request, 'add'),
    removeTags: (request) => tag(request, 'remove'),

    async getDefinition(request) {
      const { fluxName, contextId } = definitionRequest(request)
      if (contextId !== undefined) return (await find(contextId)).flux.source
      const flux = anywhere(catalog, fluxName)
      guard(flux, 'read')
      return flux.source
    },
  }
}

function serviceOf(catalog: Catalog, { package: given, fluxName }: Pick<ExecuteRequest, 'package' | 'fluxName'>, home: string | null): CompiledFlux {
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

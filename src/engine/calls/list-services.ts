// engine/calls: `listServices` lists the loaded services that the caller may see, with counts of their contexts, and the
// faults of the last load.
import type { ServicesView } from '../../api/services.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { denial } from '../../model/caller.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import type { CallEnv } from './call-env.ts'
import { isVisible } from './list-webhooks.ts'

/** See `FluxApi`. */
export async function listServices(env: CallEnv): Promise<ServicesView> {
  const isTrusted = denial(env.caller, 'read') === null
  const contextsOf = await env.serviceCounts.get({ all: isTrusted })
  const load = env.catalog.lastLoad()
  return {
    services: env.catalog
      .all()
      .filter((flux) => isVisible(env, flux))
      .map((flux) => ({ ...factsOf(flux), file: load.fileOf(flux), contexts: { ...contextsOf(flux) } })),
    faults: load.faults
      .filter(({ service }) => isTrusted || service === null || (!service.secured && isVisible(env, service)))
      .map(({ file, pointer, line = null, column = null, reason, severity }) => ({
        file,
        pointer,
        line,
        column,
        reason,
        severity,
      })),
    loadedAt: load.loadedAt,
  }
}

function factsOf({ package: owner, fluxName, source, secured, states, hash: definition }: CompiledFlux) {
  const comment = getOwn(source, 'comment')
  return {
    package: owner,
    fluxName,
    comment: typeof comment === 'string' ? comment : null,
    secured,
    states: states.map(({ name }) => name),
    triggers: listIn(source, 'triggers'),
    webhooks: listIn(source, 'webhooks').filter(isObject),
    input: listIn(source, 'input').filter(isObject),
    output: listIn(source, 'output').filter(isObject),
    definition,
  }
}

/** As the file has it. */
function listIn(source: JsonObject, name: string): Json[] {
  const list = getOwn(source, name)
  return Array.isArray(list) ? list : []
}

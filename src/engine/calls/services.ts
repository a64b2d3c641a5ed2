// engine/calls: the calls that show services: the list of all, their definitions, schemas and machines.
import type { Address } from '../../api/fields.ts'
import type { CheckedCall } from '../../api/calls.ts'
import type { ServiceSchemaView, ServicesView } from '../../api/services.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { outputSchema, startSchema } from '../../definitions/json-schema/values-schema.ts'
import { readPinned } from '../../definitions/pinned/text.ts'
import { denial } from '../../model/caller.ts'
import { notFound } from '../../model/failure.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { pictureOf } from '../interpreter/picture.ts'
import { HEAD } from '../record/decode.ts'
import { isFaultShown, serviceNamed } from './address.ts'
import { isReadable, requireRole, type CallEnv } from './call-env.ts'
import { readContext } from './contexts.ts'

/** The loaded services that the caller may see, with counts of their contexts, and the faults of the last load. */
export async function listServices(env: CallEnv): Promise<ServicesView> {
  const contextsOf = await env.serviceCounts.get({ all: denial(env.caller, 'read') === null })
  const { faults, loadedAt } = env.catalog.lastLoad
  return {
    services: env.catalog
      .all()
      .filter(isReadable(env))
      .map((flux) => ({ ...factsOf(flux), file: env.catalog.fileOf(flux), contexts: { ...contextsOf(flux) } })),
    faults: faults
      .filter((fault) => isFaultShown(env, fault))
      .map(({ file, pointer, line = null, column = null, reason, severity }) => ({
        file,
        pointer,
        line,
        column,
        reason,
        severity,
      })),
    loadedAt,
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

function readableService(env: CallEnv, named: CheckedCall<'getServiceSchema'>) {
  const flux = serviceNamed(env, named)
  requireRole(env, flux, 'read')
  return flux
}

/** The JSON Schemas of a loaded service: of the inputs of a start, and of its outputs. */
export async function getServiceSchema(
  env: CallEnv,
  request: CheckedCall<'getServiceSchema'>,
): Promise<ServiceSchemaView> {
  const flux = readableService(env, request)
  const { package: owner, fluxName, hash: definition } = flux
  return { package: owner, fluxName, definition, input: startSchema(flux), output: outputSchema(flux) }
}

/** The source of a loaded service, or of the one that a context was started with. */
export async function getDefinition(
  env: CallEnv,
  { resolved, ...named }: CheckedCall<'getDefinition'>,
): Promise<JsonObject> {
  const flux = await definitionNamed(env, named)
  return resolved ? withModels(flux) : flux.source
}

/** The same as the configuration of a machine of XState. */
export const getMachine = async (env: CallEnv, named: CheckedCall<'getMachine'>): Promise<JsonObject> =>
  pictureOf(await definitionNamed(env, named))

/** @throws FluxError also when the definition that the context was started with can't be read any more */
async function definitionNamed(env: CallEnv, named: Address) {
  const { contextId, key, fluxName } = named
  if (contextId === undefined && key === undefined && fluxName !== undefined)
    return readableService(env, { fluxName, package: named.package })
  return readContext(env, named, HEAD, ({ record, flux }) => {
    if (flux.lost === null) return flux
    throw notFound(`the definition that context ${record.id} was started with can't be shown: ${flux.lost}`)
  })
}

/** The source with the models that it refers to, directly or through others. */
function withModels({ source, text }: CompiledFlux) {
  const known = readPinned(text)?.models ?? new Map<string, JsonObject>()
  if (known.size === 0) return source
  const models: JsonObject = {}
  for (const [name, model] of known) setOwn(models, name, model)
  return { ...source, models }
}

// engine/calls: `getDefinition` shows the source of a loaded service, or of the one that a context was started with.
import type { CheckedCall } from '../../api/calls.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { readPinned } from '../../definitions/pinned/text.ts'
import { notFound } from '../../model/failure.ts'
import { setOwn, type JsonObject } from '../../model/json/value.ts'
import type { Address } from '../../api/address.ts'
import { HEAD } from '../record/decode.ts'
import { contextIdOf } from './address.ts'
import { readContext, requireRole, type CallEnv } from './call-env.ts'
import { serviceNamed } from './named-service.ts'

/** See `FluxApi`. */
export async function getDefinition(
  env: CallEnv,
  { resolved, ...named }: CheckedCall<'getDefinition'>,
): Promise<JsonObject> {
  const flux = await definitionNamed(env, named)
  return resolved ? withModels(flux) : flux.source
}

/**
 * The loaded service, or the one that the context was started with.
 * @throws FluxError also when the latter can't be read any more
 */
export async function definitionNamed(env: CallEnv, named: Address): Promise<CompiledFlux> {
  const { contextId, key, fluxName } = named
  if (contextId === undefined && key === undefined && fluxName !== undefined) {
    const flux = serviceNamed(env, { fluxName, package: named.package })
    requireRole(env, flux, 'read')
    return flux
  }
  const id = await contextIdOf(env, named, 'read')
  const flux = await readContext(env, id, HEAD, (read) => read.flux)
  if (flux.lost !== null)
    throw notFound(`the definition that context ${id} was started with can't be shown: ${flux.lost}`)
  return flux
}

/** The source with the models that it refers to, directly or through others. */
function withModels({ source, text }: CompiledFlux): JsonObject {
  const known = readPinned(text)?.models ?? new Map<string, JsonObject>()
  if (known.size === 0) return source
  const models: JsonObject = {}
  for (const [name, model] of known) setOwn(models, name, model)
  return { ...source, models }
}

// definitions: the models that are there without a file.
import type { JsonObject } from '../../model/json/value.ts'

const text = (name: string): JsonObject => ({ name, type: 'string' })

/** What `$fluxException` holds, under the product's name for it. Other servers may have more in it. */
const FLUX_EXCEPTION: JsonObject = {
  name: 'FluxRuntimeException',
  type: 'model',
  allowExtraProperties: true,
  gloopProperties: [
    text('message'),
    text('type'),
    text('className'),
    { name: 'realException', type: 'any' },
    {
      name: 'fluxStackTrace',
      type: 'model',
      array: true,
      gloopProperties: [
        text('fluxName'),
        text('stateName'),
        text('transition'),
        { name: 'stateIndex', type: 'integer' },
      ],
    },
  ],
}

/** By dotted name. A package's own model of that name hides one. */
export const BUILT_IN_MODELS: ReadonlyMap<string, JsonObject> = new Map([
  ['io.toro.martini.flux.FluxRuntimeException', FLUX_EXCEPTION],
])

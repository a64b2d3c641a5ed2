// definitions: the built-in models, which need no file.
import type { JsonObject } from '../../model/json/value.ts'

const text = (name: string) => ({ name, type: 'string' })

/** The model of `$fluxException`, under the product's name. Other servers may have more fields in it. */
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

/** By dotted name. A package's own model of the same name takes precedence. */
export const BUILT_IN_MODELS: ReadonlyMap<string, JsonObject> = new Map([
  ['io.toro.martini.flux.FluxRuntimeException', FLUX_EXCEPTION],
])

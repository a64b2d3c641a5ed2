// api: parts of answers that have a name in the OpenAPI document.
import { z } from 'zod'

export const components = z.registry<{ id: string }>()

/** `xml`: what XML calls it as a root. `xsd`: the name of its type in the XML Schema, if it is another. */
interface Naming {
  readonly description?: string
  readonly xml?: { readonly name: string; readonly namespace?: string }
  readonly xsd?: { readonly type: string }
}

export function component<T extends z.ZodType>(id: string, schema: T, naming: Naming = {}): T {
  const named = schema.meta({ ...naming })
  components.add(named, { id })
  return named
}

// api: schemas that are named components of the OpenAPI document.
import { z } from 'zod'

export const components = z.registry<{ id: string }>()

/** `xml`: name of its root element in XML. `xsd`: name of its type in the XML Schema, if that differs. */
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

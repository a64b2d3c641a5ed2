// definitions: the names of models in the `$defs` of a JSON Schema.
import type { Property, Shape } from '../values/property.ts'

/** Characters that need no escape in a reference; others become `_`. */
const UNSAFE = /[^\w.-]/g

const MAX_NAME_CHARACTERS = 100

export class SchemaNames {
  /** By fields: one that allows other names besides has the same fields as one that does not. */
  readonly #known = new Map<Shape['properties'], Map<boolean, string>>()
  readonly #taken = new Set<string>()
  readonly #counts = new Map<string, number>()

  /** The name of a model, by the property that is first found to have it. */
  of({ properties, extra }: Shape, { name, source }: Property): { readonly name: string; readonly isNew: boolean } {
    const names = this.#known.get(properties) ?? new Map<boolean, string>()
    this.#known.set(properties, names)
    const known = names.get(extra)
    if (known !== undefined) return { name: known, isNew: false }
    const { reference } = source
    const fresh = this.#unused(typeof reference === 'string' && reference !== '' ? reference : name)
    names.set(extra, fresh)
    return { name: fresh, isNew: true }
  }

  #unused(wanted: string): string {
    const base = wanted.slice(0, MAX_NAME_CHARACTERS).replaceAll(UNSAFE, '_')
    for (let count = this.#counts.get(base) ?? 1; ; count += 1) {
      const name = count === 1 && base !== '__proto__' ? base : `${base}-${count}`
      this.#counts.set(base, count + 1)
      if (this.#taken.has(name)) continue
      this.#taken.add(name)
      return name
    }
  }
}

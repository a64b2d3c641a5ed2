// pinned: remembers all that a server gives to its store, so that a context can be kept as it was at any moment.
import type { Store, Write } from '../../../src/ports/store.ts'
import type { PinnedRecord } from './corpus.ts'

/** All that was written, in order. */
export class Commits {
  readonly #writes: Write[] = []
  readonly #definitions = new Map<string, string>()

  readonly wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (name === 'commit') return this.#commit.bind(this, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })

  async #commit(store: Store, request: Parameters<Store['commit']>[0]): ReturnType<Store['commit']> {
    const outcome = await store.commit(request)
    if (!outcome.ok) return outcome
    this.#writes.push(...request.writes)
    for (const { space, key, value } of request.rows ?? [])
      if (space === 'definitions' && value !== null) this.#definitions.set(key, value)
    return outcome
  }

  get definitions(): { hash: string; text: string }[] {
    return [...this.#definitions].map(([hash, text]) => ({ hash, text }))
  }

  get ids(): number[] {
    return [...new Set(this.#writes.map(({ context }) => context.id))].toSorted((a, b) => a - b)
  }

  /** Whether it was written after all of that context. */
  isAfter(write: Write, id: number): boolean {
    return this.#writes.indexOf(write) > this.#writes.findLastIndex(({ context }) => context.id === id)
  }

  /** A context as its last write left it that comes before the first one that `until` holds for. */
  record(id: number, phase: string, until: (write: Write) => boolean = () => false): PinnedRecord {
    const own = this.#writes.filter(({ context }) => context.id === id)
    const end = own.findIndex(until)
    const writes = end < 0 ? own : own.slice(0, end)
    const last = writes.at(-1)
    if (!last) throw new Error(`nothing is written of context ${id} (${phase})`)
    const { indexKeys } = last.context
    const status = indexKeys.find((word) => word.startsWith('status:'))?.slice('status:'.length)
    return { phase: `${status}: ${phase}`, context: last.context, log: writes.flatMap(({ log }) => log), pokes: [] }
  }
}

// model: the id under which the event of a CloudEvent is known.
import { hash } from 'node:crypto'

/** Visible text, with spaces between. */
const VISIBLE = /^[!-~][ -~]{0,253}[!-~]$/

/** `source` and `id` together; of what isn't plain or is long, a hash. */
export function eventIdOf(source: string, id: string): string {
  const joined = `${source} ${id}`
  return VISIBLE.test(joined) ? joined : `ce-${hash('sha256', joined)}`
}
